import { Link } from '@tanstack/react-router';
import { useNow } from '@/time/useNow';
import { classes } from '@/ui/classes';
import { Untrusted } from '@/ui/Untrusted';
import { isLate, type LeaseSummary } from './tree';

export type NameOf = (id: string) => string;

export function holderOf(lease: LeaseSummary | undefined, nameOf: NameOf): string {
  const id = lease?.agent_id ?? lease?.user_id;
  return id ? nameOf(id) : 'unknown holder';
}

/** Remaining time of a lease as a bar and as text; an overdue renewal is shown in words. */
export function TimeLeft({ lease }: { lease: LeaseSummary }) {
  const now = useNow(1000);
  const left = Date.parse(lease.expires_at) - now.there;
  const whole = Math.max(1, Date.parse(lease.expires_at) - Date.parse(lease.since));
  const share = Math.max(0, Math.min(1, left / Math.min(whole, 60_000)));
  const seconds = Math.max(0, Math.ceil(left / 1000));
  const isOver = isLate(lease, now.there);
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <span aria-hidden="true" className="h-1.5 w-16 overflow-hidden rounded-full bg-line">
        <span
          className={classes('block h-full', isOver ? 'bg-high-mark' : 'bg-good-mark')}
          style={{ width: `${share * 100}%` }}
        />
      </span>
      <span className={classes('text-meta', isOver ? 'font-medium text-high' : 'text-ink-2')}>
        {isOver
          ? '▲ late'
          : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} left`}
      </span>
    </span>
  );
}

export function Holder({ lease, nameOf }: { lease: LeaseSummary; nameOf: NameOf }) {
  return (
    <span className="min-w-0">
      <Untrusted text={holderOf(lease, nameOf)} />
      {lease.task_id && (
        <>
          {' '}
          <Link
            to="/tasks/$id"
            params={{ id: lease.task_id }}
            search={{}}
            className="text-meta text-accent underline underline-offset-2"
          >
            task
          </Link>
        </>
      )}
    </span>
  );
}
