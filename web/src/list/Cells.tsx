import { useQuery } from '@tanstack/react-query';
import { statsQuery } from '@/api/queries';
import type { Row } from '@/inbox/rows';
import { Chip } from '@/ui/Chip';
import { classes } from '@/ui/classes';
import { Named } from '@/ui/Named';
import { Risk } from '@/ui/Risk';
import { StateChip } from '@/ui/StateChip';
import { Ago, Due } from '@/ui/Time';
import { useSettled } from './useSettled';

const ON_PHONE = 'max-md:grid-cols-[1fr_auto] max-md:gap-y-0 max-md:content-center';

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

/** Approvals received out of those required. */
export function QuorumCell({ row, isGone }: { row: Row; isGone: boolean }) {
  const isSettled = useSettled(row.task);
  const { data } = useQuery({ ...statsQuery(row.task), enabled: isSettled && !isGone });
  return (
    <span role="gridcell" className="max-md:order-3 max-md:justify-self-end">
      {isGone ? (
        <Chip tone="quiet" sign="✓">
          No longer open
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
      <StateChip state={row.state} detail={row.detail} />
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
  { word: 'Requested', className: 'text-right' },
] as const;

export const NEEDS_TEMPLATE = classes('grid-cols-[132px_minmax(0,1fr)_128px_56px_76px]', ON_PHONE);

export const STATE_COLUMNS = [
  { word: 'Risk', className: '' },
  { word: 'Task', className: '' },
  { word: 'State', className: '' },
  { word: 'Since', className: 'text-right' },
] as const;

export const STATE_TEMPLATE = classes('grid-cols-[132px_minmax(0,1fr)_128px_76px]', ON_PHONE);
