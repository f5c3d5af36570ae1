import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '@/api/client';
import { Empty } from '@/list/Strips';
import { Skeleton } from '@/list/Skeleton';
import { classes } from '@/ui/classes';
import { Ago } from '@/ui/Time';
import { Trouble } from '@/ui/Trouble';
import { Untrusted } from '@/ui/Untrusted';
import { holderOf, type NameOf } from './LeaseLine';
import { deadlocksQuery } from './queries';
import { resourcesOf } from './tree';

/** One deadlock as sentences, which are easier to follow than a drawn cycle. */
function One({ deadlock, nameOf }: { deadlock: Schemas['Deadlock']; nameOf: NameOf }) {
  const { cycle, victim } = deadlock;
  const ended = cycle.find(({ lease_hash: hash }) => hash === victim);
  return (
    <li className="card px-4 py-3" data-deadlock>
      <p>
        <strong className="font-semibold">
          ⟳ <Untrusted text={holderOf(ended, nameOf)} /> was chosen to abort
        </strong>{' '}
        <span className="text-meta text-ink-2">
          <Ago at={deadlock.at} />, so that the others could continue
        </span>
      </p>
      <ol className="mt-1 list-inside list-decimal text-ink-2">
        {cycle.map((lease, index) => {
          const next = cycle[(index + 1) % cycle.length];
          return (
            <li key={lease.lease_hash}>
              <Untrusted text={holderOf(lease, nameOf)} /> waited for{' '}
              <span className={classes('font-mono text-meta')}>
                {resourcesOf([lease]).join(', ')}
              </span>
              , which <Untrusted text={holderOf(next, nameOf)} /> held
            </li>
          );
        })}
      </ol>
    </li>
  );
}

export function Deadlocks({ nameOf }: { nameOf: NameOf }) {
  const { data, error, refetch } = useQuery(deadlocksQuery());
  if (!data) return error ? <Trouble error={error} onRetry={() => void refetch()} /> : <Skeleton />;
  if (data.items.length === 0) {
    return (
      <Empty title="No deadlocks">
        A deadlock is detected when it forms, and the youngest request in it is aborted.
      </Empty>
    );
  }
  return (
    <ul className="space-y-3 px-5 pb-6 max-md:px-4">
      {data.items.map((deadlock) => (
        <One key={`${deadlock.at}-${deadlock.victim}`} deadlock={deadlock} nameOf={nameOf} />
      ))}
    </ul>
  );
}
