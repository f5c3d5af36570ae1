import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { More } from '@/list/More';
import { Empty } from '@/list/Strips';
import { Skeleton } from '@/list/Skeleton';
import { Button } from '@/ui/Button';
import { Chip } from '@/ui/Chip';
import { classes } from '@/ui/classes';
import { Ago } from '@/ui/Time';
import { Trouble } from '@/ui/Trouble';
import { Untrusted } from '@/ui/Untrusted';
import { GraphView } from './GraphView';
import { Holder, holderOf, type NameOf, TimeLeft } from './LeaseLine';
import { graphQuery } from './queries';
import { held, type Node, resourcesOf, type Root, roots, wanted } from './tree';

function Resources({
  names,
  onOpen,
}: {
  names: readonly string[];
  onOpen: (resource: string) => void;
}) {
  return names.map((resource, index) => (
    <span key={resource}>
      {index > 0 && ', '}
      <button
        type="button"
        onClick={() => onOpen(resource)}
        className={classes(
          'min-h-6 text-left font-mono text-meta wrap-anywhere text-accent underline',
          'underline-offset-2',
        )}
      >
        <Untrusted text={resource} />
      </button>
    </span>
  ));
}

interface Props {
  nameOf: NameOf;
  onOpen: (resource: string) => void;
}

function Waiter({ node, above, nameOf, onOpen }: Props & { node: Node; above: string }) {
  const [lease] = wanted(node.leases);
  const who = holderOf(lease ?? node.leases[0], nameOf);
  return (
    <li className="border-l-2 border-line pl-4">
      <p className="py-1">
        <Untrusted text={who} /> <span className="text-ink-2">waits for</span>{' '}
        <Resources names={resourcesOf(wanted(node.leases))} onOpen={onOpen} />{' '}
        <span className="text-meta text-ink-2">
          held by <Untrusted text={above} />
          {lease && (
            <>
              {' '}
              · since <Ago at={lease.since} />
            </>
          )}
        </span>
        {node.isCircle && <span className="ml-2 text-meta font-medium text-high">⟳ cycle</span>}
      </p>
      {node.waiters.length > 0 && (
        <ul>
          {node.waiters.map((next) => (
            <Waiter key={next.owner} node={next} above={who} nameOf={nameOf} onOpen={onOpen} />
          ))}
        </ul>
      )}
    </li>
  );
}

function RootCard({ root, nameOf, onOpen }: Props & { root: Root }) {
  const own = held(root.leases);
  const [lease] = own;
  const [isDrawn, setDrawn] = useState(false);
  return (
    <li className="card px-4 py-3" data-root={root.blocked}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 pb-1">
        <span className="font-semibold">
          {lease ? <Holder lease={lease} nameOf={nameOf} /> : 'unknown holder'}
        </span>
        <span className="min-w-0 flex-1 max-md:basis-full">
          <span className="text-ink-2">holds</span>{' '}
          <Resources names={resourcesOf(own)} onOpen={onOpen} />
        </span>
        {lease && <TimeLeft lease={lease} />}
        <Chip tone="warn" sign="▲">
          blocks {root.blocked}
        </Chip>
        <Button size="small" tone="quiet" aria-pressed={isDrawn} onClick={() => setDrawn(!isDrawn)}>
          {isDrawn ? 'Show as list' : 'Show as graph'}
        </Button>
      </div>
      {isDrawn ? (
        <GraphView root={root} nameOf={nameOf} />
      ) : (
        <ul>
          {root.waiters.map((node) => (
            <Waiter
              key={node.owner}
              node={node}
              above={holderOf(lease, nameOf)}
              nameOf={nameOf}
              onOpen={onOpen}
            />
          ))}
        </ul>
      )}
    </li>
  );
}

/** Root blockers: the lock holders at the end of every chain of waiting. */
export function Blockers({ nameOf, onOpen }: Props) {
  const { data, error, refetch } = useQuery(graphQuery());
  if (!data) return error ? <Trouble error={error} onRetry={() => void refetch()} /> : <Skeleton />;
  const found = roots(data);
  if (found.length === 0) {
    return (
      <Empty title="No one is waiting for a lock">
        Blocked requests appear here, grouped by the holder that blocks them.
      </Empty>
    );
  }
  return (
    <>
      <More items={found}>
        {(shown) => (
          <ul className="space-y-3 px-5 pb-6 max-md:px-4">
            {shown.map((root) => (
              <RootCard key={root.owner} root={root} nameOf={nameOf} onOpen={onOpen} />
            ))}
          </ul>
        )}
      </More>
      {data.has_more && (
        <p className="px-5 pb-6 text-meta text-medium">
          Only part of the waiting requests is shown.
        </p>
      )}
    </>
  );
}
