import { classes } from './classes';
import { mixed } from './scripts';
import { Untrusted } from './Untrusted';

/** A name or a title that somebody else gave. In front of one that mixes scripts stands which. */
export function Named({ text }: { text: string }) {
  const scripts = mixed(text);
  return (
    <>
      {scripts && (
        <span
          data-mixed
          title="Letters of different scripts in one word: it may not be what it looks like"
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
