import { Link } from '@tanstack/react-router';
import { useNow } from '@/time/useNow';
import { classes } from '@/ui/classes';
import { Untrusted } from '@/ui/Untrusted';
import { isLate, type Lease } from './tree';

export type NameOf = (id: string) => string;

export function holderOf(lease: Lease | undefined, nameOf: NameOf): string {
  const id = lease?.agent ?? lease?.user;
  return id ? nameOf(id) : 'somebody';
}

/** What is left of a lease, as a bar and in figures. A lease that ran out says so in words. */
export function TimeLeft({ lease }: { lease: Lease }) {
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

export function Holder({ lease, nameOf }: { lease: Lease; nameOf: NameOf }) {
  return (
    <span className="min-w-0">
      <Untrusted text={holderOf(lease, nameOf)} />
      {lease.task && (
        <>
          {' '}
          <Link
            to="/tasks/$id"
            params={{ id: lease.task }}
            search={{}}
            className="text-meta text-accent underline underline-offset-2"
          >
            its task
          </Link>
        </>
      )}
    </span>
  );
}
