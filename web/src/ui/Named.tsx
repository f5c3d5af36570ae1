import { classes } from './classes';
import { mixed } from './scripts';
import { Untrusted } from './Untrusted';

/** Untrusted name or title. If a word mixes scripts, a warning with their names precedes it. */
export function Named({ text }: { text: string }) {
  const scripts = mixed(text);
  return (
    <>
      {scripts && (
        <span
          data-mixed
          title="This name mixes letters of different scripts and may be misleading"
          className={classes(
            'mr-1 rounded-chip border border-line-strong px-0.5 font-mono text-key',
            'text-high',
          )}
        >
          mixed: {scripts}
        </span>
      )}
      <Untrusted text={text} />
    </>
  );
}
