import { classes } from './classes';
const SIGNS: Record<string, string> = {
  $mod: navigator.platform.startsWith('Mac') ? '⌘' : 'Ctrl',
  Shift: '⇧',
  Enter: '↵',
  Escape: 'Esc',
  ArrowDown: '↓',
  ArrowUp: '↑',
  Space: 'Space',
};

/** `Shift+j` means two keys pressed together, `g i` one key after the other. */
export function spellKeys(keys: string): string[] {
  return keys.split(' ').map((press) =>
    press
      .split('+')
      .map((key) => SIGNS[key] ?? (key.length === 1 ? key.toUpperCase() : key))
      .join(''),
  );
}

/** Hidden from screen readers: the help overlay lists all keys, so labels do not repeat them. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <span aria-hidden="true" className="inline-flex gap-1 max-md:hidden">
      {spellKeys(keys).map((key, index) => (
        <kbd
          key={index}
          className={classes(
            'min-w-4 rounded-chip border border-current px-1 text-center font-mono',
            'text-key leading-[14px]',
          )}
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}
