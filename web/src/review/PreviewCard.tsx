import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import { type Change, revisionQuery, type Task } from '@/api/queries';
import { useActions } from '@/keys/react';
import { More } from '@/list/More';
import { Button } from '@/ui/Button';
import { Card, CardWait } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { Untrusted } from '@/ui/Untrusted';
import { useIsPhone } from '@/ui/useIsPhone';
import { Diff } from './Diff';
import { diff, LINES_STEP } from './diff';
import { contentOf, gravest, linesOf, programOf, SIGN } from './effect';

const TONES = { remove: 'text-del-sign', change: 'text-ink-2', add: 'text-add-sign' } as const;

interface View {
  readonly isSplit: boolean;
  readonly isWhole: boolean;
}

function OneChange({ change, view }: { change: Change; view: View }) {
  const lines = useMemo(() => diff(linesOf(change.before), linesOf(change.after)), [change]);
  return (
    <li data-change className="scroll-mt-4 outline-none" tabIndex={-1}>
      <p className="flex items-baseline gap-2 py-1.5">
        <span
          aria-hidden="true"
          className={classes('font-mono font-semibold', TONES[change.action])}
        >
          {SIGN[change.action]}
        </span>
        <span className="sr-only">{change.action}: </span>
        <span className="min-w-0 flex-1 wrap-anywhere">
          <Untrusted text={change.summary} />
        </span>
        {change.irreversible && (
          <span className="shrink-0 text-meta font-medium text-high">▲ cannot be undone</span>
        )}
      </p>
      {lines.length > 0 && <Diff lines={lines} {...view} label={`Change on ${change.resource}`} />}
    </li>
  );
}

function Since({
  task,
  shown,
  since,
  view,
}: {
  task: string;
  shown: Task;
  since: number;
  view: View;
}) {
  const { data, error } = useQuery(revisionQuery(task, since));
  const lines = useMemo(() => (data ? diff(contentOf(data), contentOf(shown)) : []), [data, shown]);
  if (!data) return <CardWait error={error} />;
  const count = lines.filter(({ kind }) => kind !== 'same').length;
  return (
    <>
      <p className="pb-2 text-ink-2">
        {count === 0
          ? 'No differences.'
          : `${count} lines differ between revision ${since} and ${shown.revision}.`}
      </p>
      <Diff lines={lines} {...view} label={`Since revision ${since}`} />
    </>
  );
}

interface Props {
  shown: Task;
  since: number | undefined;
  onSince: (revision: number | undefined) => void;
}

/** Preview of the changes. */
export function PreviewCard({ shown, since, onSince }: Props) {
  const isPhone = useIsPhone();
  const [isSplitWanted, setSplit] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const at = useRef(-1);
  const view = { isSplit: isSplitWanted && !isPhone, isWhole };
  const go = (step: 1 | -1) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>('[data-change]') ?? [])];
    at.current = Math.max(0, Math.min(all.length - 1, at.current + step));
    all[at.current]?.focus();
    all[at.current]?.scrollIntoView({ block: 'nearest' });
  };
  useActions([
    {
      id: 'next-change',
      title: 'Next change',
      group: 'Review',
      keys: ['n'],
      isLocal: true,
      isRepeated: true,
      run: () => go(1),
    },
    {
      id: 'previous-change',
      title: 'Previous change',
      group: 'Review',
      keys: ['p'],
      isLocal: true,
      isRepeated: true,
      run: () => go(-1),
    },
    {
      id: 'fold',
      title: 'Fold or unfold unchanged lines',
      group: 'Review',
      keys: ['z'],
      isLocal: true,
      run: () => setWhole(!isWhole),
    },
  ]);
  const { warnings, errors } = shown.effect;
  const changes = gravest(shown.effect.changes);
  return (
    <Card
      title="Preview"
      className="max-lg:order-3"
      aside={
        <span className="flex flex-wrap items-center justify-end gap-1">
          {shown.revision > 1 && (
            <select
              aria-label="Compare with"
              value={since ?? ''}
              onChange={(event) =>
                onSince(event.target.value ? Number(event.target.value) : undefined)
              }
              className={classes(
                'h-7 rounded-control border border-line-strong bg-surface px-1 text-meta',
                'max-md:h-11',
              )}
            >
              <option value="">whole revision {shown.revision}</option>
              {Array.from(
                { length: shown.revision - 1 },
                (_, index) => shown.revision - 1 - index,
              ).map((one) => (
                <option key={one} value={one}>
                  since revision {one}
                </option>
              ))}
            </select>
          )}
          {!isPhone && (
            <Button
              size="small"
              tone="quiet"
              aria-pressed={isSplitWanted}
              onClick={() => setSplit(!isSplitWanted)}
            >
              {isSplitWanted ? 'Unified' : 'Split'}
            </Button>
          )}
          <Button
            size="small"
            tone="quiet"
            keys="z"
            aria-pressed={isWhole}
            onClick={() => setWhole(!isWhole)}
          >
            {isWhole ? 'Changes only' : 'All lines'}
          </Button>
        </span>
      }
    >
      {[...errors, ...warnings].map((text, index) => (
        <p
          key={index}
          className={classes(
            'mb-2 rounded-control border border-medium-mark bg-medium-soft px-3 py-1.5',
            'text-meta text-medium',
          )}
        >
          <Untrusted text={text} />
        </p>
      ))}
      {since !== undefined ? (
        <Since task={shown.id} shown={shown} since={since} view={view} />
      ) : changes.length === 0 ? (
        <p className="text-ink-2">The preview shows no changes.</p>
      ) : (
        <More items={changes} what="changes" className="pt-3">
          {(first) => (
            <ul ref={list} className="space-y-2">
              {first.map((change, index) => (
                <OneChange key={index} change={change} view={view} />
              ))}
            </ul>
          )}
        </More>
      )}
    </Card>
  );
}

/** The submitted parameters, exactly as covered by the digest. */
export function ProgramCard({ shown }: { shown: Task }) {
  const lines = programOf(shown.parameters);
  return (
    <Card
      title="What would run"
      aside={<span className="font-mono text-meta text-ink-3">{shown.type}</span>}
      className="max-lg:order-4"
    >
      <More items={lines} step={LINES_STEP} what="lines" className="pt-3">
        {(first) => (
          <pre
            tabIndex={0}
            aria-label="What would run"
            className={classes(
              'max-h-[320px] overflow-auto rounded-control bg-sunken px-3 py-2 font-mono',
              'text-meta leading-[22px] whitespace-pre-wrap wrap-anywhere',
            )}
          >
            {first.map((line, index) => (
              <span key={index} className="block">
                <Untrusted text={line} lines />
              </span>
            ))}
          </pre>
        )}
      </More>
    </Card>
  );
}
