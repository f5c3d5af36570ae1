import { useQuery } from '@tanstack/react-query';
import { Empty } from '@/list/Strips';
import { Skeleton } from '@/list/Skeleton';
import { classes } from '@/ui/classes';
import { Trouble } from '@/ui/Trouble';
import { Untrusted } from '@/ui/Untrusted';
import { Holder, type NameOf, TimeLeft } from './LeaseLine';
import { locksQuery } from './queries';

interface Props {
  filter: string;
  nameOf: NameOf;
  onOpen: (resource: string) => void;
}

export function LockTable({ filter, nameOf, onOpen }: Props) {
  const { data, error, refetch } = useQuery(locksQuery());
  if (!data) return error ? <Trouble error={error} onRetry={() => void refetch()} /> : <Skeleton />;
  const word = filter.trim().toLowerCase();
  const items = data.items.filter(({ resource }) => resource.toLowerCase().includes(word));
  if (items.length === 0) {
    return (
      <Empty title={word ? 'Nothing fits the filter' : 'Nothing is locked'}>
        {word
          ? 'No resource with a lock is called that.'
          : 'Locks that agents take appear here while they hold.'}
      </Empty>
    );
  }
  const cell = 'py-2 pr-4 align-top';
  return (
    <div
      className="overflow-x-auto px-5 pb-6 max-md:px-4"
      tabIndex={0}
      role="group"
      aria-label="All locks"
    >
      <table className="w-full border-collapse">
        <thead>
          <tr className="border-b border-line text-left text-meta text-ink-3">
            {['Resource', 'Held by', 'Mode', 'Left', 'Waiting'].map((word) => (
              <th key={word} scope="col" className="py-2 pr-4 font-normal">
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((lock) => {
            const [first] = lock.holders;
            const mode = first?.resources.find(({ resource }) => resource === lock.resource)?.mode;
            return (
              <tr key={lock.resource} className="border-b border-line" data-lock={lock.resource}>
                <th scope="row" className={`${cell} text-left font-normal`}>
                  <button
                    type="button"
                    onClick={() => onOpen(lock.resource)}
                    className={classes(
                      'min-h-6 text-left font-mono text-meta text-accent underline',
                      'underline-offset-2',
                    )}
                  >
                    <Untrusted text={lock.resource} />
                  </button>
                </th>
                <td className={cell}>
                  {first ? (
                    <Holder lease={first} nameOf={nameOf} />
                  ) : (
                    <span className="text-ink-3">nobody</span>
                  )}
                  {lock.holding > 1 && (
                    <span className="text-meta text-ink-3"> and {lock.holding - 1} more</span>
                  )}
                </td>
                <td className={`${cell} text-ink-2`}>{mode ?? '–'}</td>
                <td className={cell}>{first ? <TimeLeft lease={first} /> : '–'}</td>
                <td className={cell}>{lock.waiting}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {data.isCut && (
        <p className="pt-3 text-meta text-medium">Only the first {data.items.length} are shown.</p>
      )}
    </div>
  );
}
