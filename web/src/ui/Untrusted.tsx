import { classes } from './classes';
import { pieces } from './text';

/** Untrusted text, rendered as plain text and isolated in its own direction. */
export function Untrusted({ text, lines }: { text: string; lines?: boolean }) {
  const parts = pieces(text, lines ? { lines } : {});
  return (
    <bdi>
      {parts.map((piece, index) =>
        'text' in piece ? (
          <span key={index}>{piece.text}</span>
        ) : (
          <span
            key={index}
            title={piece.name}
            className={classes(
              'mx-px rounded-chip border border-line-strong px-0.5 font-mono text-key',
              'text-high',
            )}
          >
            {piece.code}
          </span>
        ),
      )}
    </bdi>
  );
}
