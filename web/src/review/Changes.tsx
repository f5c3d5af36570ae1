import { type RefObject, useMemo } from 'react';
import type { Change, Effect } from '@/api/queries';
import { More } from '@/list/More';
import { Part } from '@/reading/react';
import { classes } from '@/ui/classes';
import { Untrusted } from '@/ui/Untrusted';
import { Diff } from './Diff';
import { diff } from './diff';
import { gravest, rowsOf, SIGN, valueLines } from './effect';

const TONES = { remove: 'text-del-sign', change: 'text-ink-2', add: 'text-add-sign' } as const;

export interface View {
  readonly isSplit: boolean;
  readonly isWhole: boolean;
}

function OneChange({ change, view }: { change: Change; view: View }) {
  const rows = rowsOf(change);
  const lines = useMemo(() => diff(valueLines(change.before), valueLines(change.after)), [change]);
  return (
    <li data-change className="scroll-mt-4 outline-none" tabIndex={-1}>
      <Part>
        <p className="flex items-baseline gap-2 py-1.5">
          <span
            aria-hidden="true"
            className={classes('font-mono font-semibold', TONES[change.action])}
          >
            {SIGN[change.action]}
          </span>
          <span className="sr-only">{change.action}: </span>
          <span className="min-w-0 flex-1 wrap-anywhere">
            <span data-summary>
              <Untrusted text={change.summary} />
            </span>{' '}
            <span className="font-mono text-meta text-ink-3">
              <Untrusted text={change.resource} />
            </span>
          </span>
          {change.irreversible && (
            <span className="shrink-0 text-meta font-medium text-high">▲ cannot be undone</span>
          )}
        </p>
        {rows && <p className="pb-1.5 text-meta text-ink-2">{rows}</p>}
      </Part>
      {lines.length > 0 && <Diff lines={lines} {...view} label={`Change on ${change.resource}`} />}
    </li>
  );
}

interface ListProps {
  effect: Effect;
  view: View;
  list?: RefObject<HTMLUListElement | null>;
}

/** Every change with its values, the most severe first. */
export function ChangeList({ effect, view, list }: ListProps) {
  const changes = gravest(effect.changes);
  if (changes.length === 0) {
    return (
      <Part>
        <p className="text-ink-2">The effect contains no changes.</p>
      </Part>
    );
  }
  return (
    <More items={changes} what="changes" className="pt-3">
      {(first) => (
        <ul ref={list} className="space-y-2">
          {first.map((change, index) => (
            <OneChange key={index} change={change} view={view} />
          ))}
        </ul>
      )}
    </More>
  );
}

/** Errors and warnings of the preview. */
export function Notes({ effect }: { effect: Effect }) {
  return [...effect.errors, ...effect.warnings].map((text, index) => (
    <Part key={index}>
      <p
        className={classes(
          'mb-2 rounded-control border border-medium-mark bg-medium-soft px-3 py-1.5',
          'text-meta wrap-anywhere text-medium',
        )}
      >
        <Untrusted text={text} />
      </p>
    </Part>
  ));
}
