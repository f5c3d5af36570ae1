import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { auditQuery, explainQuery, lockQuery, type Task } from '@/api/queries';
import { actorOf, entryOf, phraseHere } from '@/audit/leaf';
import { clockTime, exactTime } from '@/time/clock';
import { useNow } from '@/time/useNow';
import { Card, CardWait } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { Named } from '@/ui/Named';
import { Untrusted } from '@/ui/Untrusted';

type NameOf = (id: string) => string;

const GATES: Record<string, string> = {
  submitted: 'Submitted',
  policy: 'Policy',
  approval: 'Approval',
  window: 'Time window',
  freeze: 'No freeze',
  locks: 'Locks free',
  capacity: 'Somebody to apply it',
};

export function GatesCard({ task }: { task: Task }) {
  const { data, error } = useQuery(explainQuery(task.id));
  const open = data?.gates.filter(({ is_open: isOpen }) => isOpen).length ?? 0;
  return (
    <Card
      title="Gates"
      className="max-lg:order-6"
      aside={
        data && (
          <span className="text-meta text-ink-2">
            {open} of {data.gates.length} open
          </span>
        )
      }
    >
      {data ? (
        <ul className="space-y-1">
          {data.gates.map((gate) => (
            <li key={gate.name} className="flex gap-2">
              <span
                aria-hidden="true"
                className={classes(
                  'w-4 shrink-0 text-center',
                  gate.is_open ? 'text-good' : 'text-ink-3',
                )}
              >
                {gate.is_open ? '✓' : '○'}
              </span>
              <span className="min-w-0">
                {GATES[gate.name] ?? gate.name}
                <span className="sr-only">{gate.is_open ? ': open.' : ': closed.'}</span>
                {!gate.is_open && (
                  <span className="block text-meta text-ink-2 wrap-anywhere">{gate.evidence}</span>
                )}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <CardWait error={error} room="h-44" />
      )}
    </Card>
  );
}

function left(at: string, now: number): string {
  const seconds = Math.max(0, Math.round((Date.parse(at) - now) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} left`;
}

interface LockProps {
  resource: string;
  mode: string;
  /** The server says that all are free; then none has to be asked about. */
  areFree: boolean;
  nameOf: NameOf;
}

function LockRow({ resource, mode, areFree, nameOf }: LockProps) {
  const { data, error } = useQuery({ ...lockQuery(resource), enabled: !areFree });
  const now = useNow(1000);
  const holder = data?.holders[0];
  const who = holder?.agent ?? holder?.user;
  return (
    <li className="py-0.5">
      <span className="font-mono text-meta wrap-anywhere">
        <Untrusted text={resource} />
      </span>{' '}
      <span className="text-meta text-ink-3">{mode}</span>
      <span className="block text-meta text-ink-2">
        {areFree ? (
          '○ free now'
        ) : error ? (
          'could not be read'
        ) : data === undefined ? (
          '…'
        ) : !holder ? (
          '○ free now'
        ) : (
          <>
            ● held by <Untrusted text={who ? nameOf(who) : 'somebody'} /> ·{' '}
            {left(holder.expires_at, now.there)}
            {(data?.waiting ?? 0) > 0 && ` · ${data?.waiting} waiting`}
          </>
        )}
      </span>
    </li>
  );
}

const ROLLBACK = {
  automatic: 'It is undone by itself if it fails.',
  manual: 'There are steps to undo it by hand.',
  none: 'There is no way back prepared.',
} as const;

export function LocksCard({ shown, nameOf }: { shown: Task; nameOf: NameOf }) {
  const { data } = useQuery(explainQuery(shown.id));
  const isOpen = data?.gates.find(({ name }) => name === 'locks')?.is_open ?? true;
  // An open gate says that no other is in its way; while it is applied it holds them itself.
  const areFree = isOpen && shown.state !== 'APPLYING' && shown.state !== 'UNKNOWN';
  return (
    <Card title="Locks and way back" className="max-lg:order-7">
      <ul>
        {shown.resources.map(({ resource, mode }) => (
          <LockRow
            key={resource}
            resource={resource}
            mode={mode ?? 'exclusive'}
            areFree={areFree}
            nameOf={nameOf}
          />
        ))}
      </ul>
      <p className="mt-2 border-t border-line pt-2 text-meta text-ink-2">
        {ROLLBACK[shown.rollback.strategy]}
      </p>
      {shown.rollback.steps && (
        <p className="mt-1 font-mono text-meta wrap-anywhere whitespace-pre-wrap">
          <Untrusted text={shown.rollback.steps} lines />
        </p>
      )}
    </Card>
  );
}

export function AuditCard({ task, nameOf }: { task: Task; nameOf: NameOf }) {
  const { data, error } = useQuery(auditQuery(task.id));
  return (
    <Card
      title="Audit"
      className="max-lg:order-8"
      aside={
        data && (
          <Link
            to="/audit"
            search={{ object: task.id }}
            className="text-meta text-accent underline underline-offset-2"
          >
            {data.items.length} entries
          </Link>
        )
      }
    >
      {data ? (
        <ol className="space-y-1">
          {data.items.map(entryOf).map(({ key: id, leaf }) => {
            return (
              <li
                key={id}
                className="flex gap-2"
                title={`${id}${leaf.when ? ` · ${exactTime(leaf.when)}` : ''}`}
              >
                <time dateTime={leaf.when} className="shrink-0 font-mono text-meta text-ink-3">
                  {leaf.when ? clockTime(leaf.when) : ''}
                </time>
                <span className="min-w-0 text-meta wrap-anywhere">
                  <Untrusted text={actorOf(leaf.who, nameOf)} /> {phraseHere(leaf)}
                  {leaf.what?.revision && (
                    <span className="text-ink-3"> · rev {leaf.what.revision}</span>
                  )}
                </span>
              </li>
            );
          })}
        </ol>
      ) : (
        <CardWait error={error} />
      )}
    </Card>
  );
}

/** Where the steps of the agent will stand. Until they are recorded, the page says so instead of
 *  leaving a reader to guess. */
export function TrajectoryCard({ task, nameOf }: { task: Task; nameOf: NameOf }) {
  return (
    <Card title="What the agent did" className="max-lg:order-5">
      <p className="text-ink-2">
        {task.agent ? (
          <>
            <Named text={nameOf(task.agent)} /> has recorded no steps. Judge the effect alone.
          </>
        ) : (
          'A person proposed it; no agent had a part in it.'
        )}
      </p>
    </Card>
  );
}
