import { DropdownMenu } from 'radix-ui';
import { useSingleKeys } from '@/keys/react';
import { SessionMenu } from '@/session/SessionMenu';
import { useMe } from '@/session/session';
import { toggleTheme, useTheme } from '@/theme/theme';
import { classes } from '@/ui/classes';
import { Icon } from '@/ui/Icon';
import { MENU_ITEM } from '@/ui/menu';

function initials(name: string): string {
  const words = name.split(/\s+/).filter(Boolean);
  return words
    .slice(0, 2)
    .map((word) => [...word][0])
    .join('')
    .toUpperCase();
}

/** Not modal: a modal menu inserts a style element, which the Content Security Policy blocks. */
export function UserMenu() {
  const me = useMe();
  const theme = useTheme();
  const [areSinglesOn, setSingles] = useSingleKeys();
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger
        className={classes(
          'flex size-7 items-center justify-center rounded-full border',
          'border-line-strong text-key font-semibold text-ink-2 hover:bg-sunken',
          'max-md:size-9',
        )}
      >
        <span aria-hidden="true">{initials(me.name)}</span>
        <span className="sr-only">{me.name}: settings</span>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={6}
          className={classes(
            'z-50 min-w-[240px] rounded-card border border-line-strong bg-surface p-1',
            'text-ink',
          )}
        >
          <DropdownMenu.Label className="px-2 py-2">
            <span className="block font-semibold">{me.name}</span>
            <span className="block text-meta text-ink-3">{me.roles.join(', ') || 'no roles'}</span>
          </DropdownMenu.Label>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.Item className={MENU_ITEM} onSelect={toggleTheme}>
            <Icon name={theme === 'dark' ? 'sun' : 'moon'} />
            {theme === 'dark' ? 'Light theme' : 'Dark theme'}
          </DropdownMenu.Item>
          <DropdownMenu.CheckboxItem
            className={MENU_ITEM}
            checked={areSinglesOn}
            onCheckedChange={setSingles}
          >
            <Icon name={areSinglesOn ? 'check' : 'open'} />
            Single-key shortcuts
          </DropdownMenu.CheckboxItem>
          <SessionMenu />
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
