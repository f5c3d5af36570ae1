import { useMemo, useState } from 'react';
import type { Task } from '@/api/queries';
import { chunks, headOf, PART_LINES, shownOf } from '@/reading/fold';
import { Part, useFolded } from '@/reading/react';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { Untrusted } from '@/ui/Untrusted';
import { programOf } from './effect';

/** The submitted parameters, exactly as covered by the digest. */
export function Program({ shown }: { shown: Pick<Task, 'parameters'> }) {
  const [isWhole, setWhole] = useState(false);
  const lines = useMemo(() => programOf(shown.parameters), [shown.parameters]);
  const head = useMemo(() => headOf(lines), [lines]);
  const words = shownOf(head, lines);
  const isFolded = words !== undefined && !isWhole;
  useFolded(isFolded);
  if (lines.length === 0) {
    return (
      <Part>
        <p className="text-ink-2">No parameters.</p>
      </Part>
    );
  }
  return (
    <>
      <pre
        tabIndex={0}
        aria-label="What would run"
        data-program={isFolded ? 'folded' : 'whole'}
        className={classes(
          'rounded-control bg-sunken px-3 py-2 font-mono text-meta leading-[22px]',
          'whitespace-pre-wrap wrap-anywhere',
        )}
      >
        {chunks(isFolded ? head : lines, PART_LINES).map((some, index) => (
          <Part key={index}>
            {some.map((line, row) => (
              <span key={row} className="block min-h-[22px]">
                <Untrusted text={line} lines />
              </span>
            ))}
          </Part>
        ))}
      </pre>
      {isFolded && (
        <p className="flex flex-wrap items-center gap-x-4 gap-y-1 pt-2 text-meta text-ink-2">
          {words}
          <Button size="small" onClick={() => setWhole(true)}>
            Show everything
          </Button>
        </p>
      )}
    </>
  );
}

/** The type and the resources with their lock modes. */
export function Touches({ shown }: { shown: Pick<Task, 'type' | 'resources'> }) {
  return (
    <Part>
      <p className="pb-2 text-meta wrap-anywhere text-ink-2" data-touches>
        <span className="font-mono text-ink">
          <Untrusted text={shown.type} />
        </span>{' '}
        on{' '}
        {shown.resources.map(({ resource, mode }, index) => (
          <span key={resource}>
            {index > 0 && ', '}
            <span className="font-mono text-ink">
              <Untrusted text={resource} />
            </span>{' '}
            ({mode ?? 'exclusive'})
          </span>
        ))}
      </p>
    </Part>
  );
}
