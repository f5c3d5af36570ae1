import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { statsQuery } from '@/api/queries';
import type { Row } from '@/inbox/rows';
import { Chip } from '@/ui/Chip';
import { classes } from '@/ui/classes';
import { Named } from '@/ui/Named';
import { Risk } from '@/ui/Risk';
import { StateChip } from '@/ui/StateChip';
import { Ago, Due } from '@/ui/Time';

const ON_PHONE = 'max-md:grid-cols-[1fr_auto] max-md:gap-y-0 max-md:content-center';

/** A row that only flies by is not asked about. */
const SETTLE_MS = 120;

function useSettled(key: string): boolean {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setSettled(key), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return settled === key;
}

export function RiskCell({ row }: { row: Row }) {
  return (
    <span role="gridcell" className="max-md:order-2">
      <Risk level={row.level} score={row.score} />
    </span>
  );
}

export function TitleCell({ row, by }: { row: Row; by: string }) {
  return (
    <span role="gridcell" className="min-w-0 max-md:order-1 max-md:col-span-2">
      <span className="block truncate font-medium">
        <Named text={row.title} />
      </span>
      <span className="block truncate font-mono text-meta text-ink-3">
        T-{row.number} · {row.type} · <Named text={by} />
      </span>
    </span>
  );
}

/** How many have agreed, of how many. */
export function QuorumCell({ row, isGone }: { row: Row; isGone: boolean }) {
  const isSettled = useSettled(row.task);
  const { data } = useQuery({ ...statsQuery(row.task), enabled: isSettled && !isGone });
  return (
    <span role="gridcell" className="max-md:order-3 max-md:justify-self-end">
      {isGone ? (
        <Chip tone="quiet" sign="✓">
          No longer waits
        </Chip>
      ) : data ? (
        <Chip>
          {data.approved_count} of {data.required_count}
        </Chip>
      ) : (
        <span className="inline-block h-6 w-12 align-middle" />
      )}
    </span>
  );
}

export function StateCell({ row }: { row: Row }) {
  return (
    <span role="gridcell" className="max-md:order-3 max-md:justify-self-end">
      <StateChip state={row.state} />
    </span>
  );
}

export function DueCell({ row }: { row: Row }) {
  return (
    <span
      role="gridcell"
      className={classes(
        'text-right max-md:sr-only',
        row.isOverdue ? 'font-semibold text-high' : 'text-ink-2',
      )}
    >
      {row.dueAt ? <Due at={row.dueAt} /> : '–'}
    </span>
  );
}

export function AgeCell({ row }: { row: Row }) {
  return (
    <span role="gridcell" className="text-right text-ink-2 max-md:sr-only">
      <Ago at={row.since} />
    </span>
  );
}

export const NEEDS_COLUMNS = [
  { word: 'Risk', className: '' },
  { word: 'Task', className: '' },
  { word: 'Approvals', className: '' },
  { word: 'Due', className: 'text-right' },
  { word: 'Asked', className: 'text-right' },
] as const;

export const NEEDS_TEMPLATE = classes('grid-cols-[132px_minmax(0,1fr)_128px_56px_76px]', ON_PHONE);

export const STATE_COLUMNS = [
  { word: 'Risk', className: '' },
  { word: 'Task', className: '' },
  { word: 'State', className: '' },
  { word: 'Since', className: 'text-right' },
] as const;

export const STATE_TEMPLATE = classes('grid-cols-[132px_minmax(0,1fr)_128px_76px]', ON_PHONE);
