import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import { revisionQuery, type Task } from '@/api/queries';
import { useActions } from '@/keys/react';
import { ReadingArea } from '@/reading/react';
import { Button } from '@/ui/Button';
import { Card, CardWait } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { useIsPhone } from '@/ui/useIsPhone';
import { ChangeList, Notes, type View } from './Changes';
import { Diff } from './Diff';
import { diff } from './diff';
import { contentOf } from './effect';
import { Program, Touches } from './Program';

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
      {/* The comparison may stay folded: everything in it is also shown below. */}
      <ReadingArea reading={undefined}>
        <Diff lines={lines} {...view} label={`Since revision ${since}`} />
      </ReadingArea>
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
      <Notes effect={shown.effect} />
      {since !== undefined && (
        <div className="pb-4">
          <Since task={shown.id} shown={shown} since={since} view={view} />
        </div>
      )}
      <ChangeList effect={shown.effect} view={view} list={list} />
    </Card>
  );
}

/** What the server or an agent would run. */
export function ProgramCard({ shown }: { shown: Task }) {
  return (
    <Card title="What would run" className="max-lg:order-1">
      <Touches shown={shown} />
      <Program shown={shown} />
    </Card>
  );
}
