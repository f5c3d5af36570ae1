import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { approvalsQuery, auditQuery, explainQuery, lockQuery, type Task } from '@/api/queries';
import { actorOf, entryOf, isRefused, phraseHere, tokenNote } from '@/audit/leaf';
import { mayReadAuditOf } from '@/session/access';
import { useMe } from '@/session/session';
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
  capacity: 'Agent available',
};

export function GatesCard({ task }: { task: Task }) {
  const { data, error } = useQuery(explainQuery(task.id));
  const count = data?.gates.filter(({ passed }) => passed).length ?? 0;
  return (
    <Card
      title="Checks"
      className="max-lg:order-6"
      aside={
        data && (
          <span className="text-meta text-ink-2">
            {count} of {data.gates.length} passed
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
                  gate.passed ? 'text-good' : 'text-ink-3',
                )}
              >
                {gate.passed ? '✓' : '○'}
              </span>
              <span className="min-w-0">
                {GATES[gate.name] ?? gate.name}
                <span className="sr-only">{gate.passed ? ': passed.' : ': not passed.'}</span>
                {!gate.passed && (
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
  /** The server reports that all locks are free, so no lock is queried. */
  areFree: boolean;
  nameOf: NameOf;
}

function LockRow({ resource, mode, areFree, nameOf }: LockProps) {
  const { data, error } = useQuery({ ...lockQuery(resource), enabled: !areFree });
  const now = useNow(1000);
  const holder = data?.holders[0];
  const who = holder?.agent_id ?? holder?.user_id;
  return (
    <li className="py-0.5">
      <span className="font-mono text-meta wrap-anywhere">
        <Untrusted text={resource} />
      </span>{' '}
      <span className="text-meta text-ink-3">{mode}</span>
      <span className="block text-meta text-ink-2">
        {areFree ? (
          '○ free'
        ) : error ? (
          'could not be loaded'
        ) : data === undefined ? (
          '…'
        ) : !holder ? (
          '○ free'
        ) : (
          <>
            ● held by <Untrusted text={who ? nameOf(who) : 'unknown holder'} /> ·{' '}
            {left(holder.expires_at, now.there)}
            {(data?.waiting ?? 0) > 0 && ` · ${data?.waiting} waiting`}
          </>
        )}
      </span>
    </li>
  );
}

const ROLLBACK = {
  automatic: 'Rolled back automatically if the apply fails.',
  manual: 'Rollback is manual.',
  none: 'No rollback defined.',
} as const;

export function LocksCard({ shown, nameOf }: { shown: Task; nameOf: NameOf }) {
  const { data } = useQuery(explainQuery(shown.id));
  const isPassed = data?.gates.find(({ name }) => name === 'locks')?.passed ?? true;
  // If the check passed, no other holder blocks the task; while applying, the task holds the locks.
  const areFree = isPassed && shown.state !== 'APPLYING' && shown.state !== 'UNKNOWN';
  return (
    <Card title="Locks and rollback" className="max-lg:order-7">
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
  const me = useMe();
  const { data: approvals } = useQuery(approvalsQuery(task.id));
  const isOpen = approvals && mayReadAuditOf(me, { author_id: task.author_id, ...approvals });
  const { data, error } = useQuery({ ...auditQuery(task.id), enabled: isOpen ?? false });
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
            {data.items.length} {data.items.length === 1 ? 'entry' : 'entries'}
          </Link>
        )
      }
    >
      {data ? (
        <ol className="space-y-1">
          {data.items.map(entryOf).map(({ key: id, leaf }) => {
            const token = tokenNote(leaf.who, nameOf);
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
                  {isRefused(leaf) && <strong className="font-semibold text-bad">✕ </strong>}
                  <Untrusted text={actorOf(leaf.who, nameOf)} /> {phraseHere(leaf)}
                  {leaf.what?.revision && (
                    <span className="text-ink-3"> · rev {leaf.what.revision}</span>
                  )}
                  {token && (
                    <span className="text-ink-3">
                      {' · '}
                      <Untrusted text={token} />
                    </span>
                  )}
                </span>
              </li>
            );
          })}
        </ol>
      ) : isOpen === false ? (
        <p className="text-meta text-ink-2">
          Its author, its reviewers, admins and auditors can read the audit of this task.
        </p>
      ) : (
        <CardWait error={error} />
      )}
    </Card>
  );
}

/** Placeholder for the recorded steps of the agent; says so if there are none. */
export function TrajectoryCard({ task, nameOf }: { task: Task; nameOf: NameOf }) {
  return (
    <Card title="Agent steps" className="max-lg:order-5">
      <p className="text-ink-2">
        {task.agent_id ? (
          <>
            <Named text={nameOf(task.agent_id)} /> recorded no steps. Review the effect itself.
          </>
        ) : (
          'This task was proposed by a person, without an agent.'
        )}
      </p>
    </Card>
  );
}
