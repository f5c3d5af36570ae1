import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Schemas } from '@/api/client';
import { approvalsQuery, auditQuery, explainQuery, lockQuery, statsQuery, type Task } from '@/api/queries';
import { useMe } from '@/session/session';
import { clockTime, exactTime } from '@/time/clock';
import { useNow } from '@/time/useNow';
import { Card, CardWait } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { type Sign, type Voter, voters } from './quorum';

type NameOf = (id: string) => string;

const SIGNS: Record<Sign, [sign: string, tone: string]> = {
  approved: ['✓', 'text-good'],
  rejected: ['✕', 'text-bad'],
  changes: ['✎', 'text-bad'],
  stale: ['↺', 'text-ink-3'],
  late: ['◷', 'text-ink-3'],
  you: ['●', 'text-accent'],
  may: ['○', 'text-ink-3'],
};

function voterWords(voter: Voter, nameOf: NameOf): ReactNode {
  const when = voter.at ? <Ago at={voter.at} /> : null;
  switch (voter.sign) {
    case 'approved':
      return <>approved rev {voter.revision}{voter.carriedFrom ? ` (carried from rev ${voter.carriedFrom})` : ''} · {when}</>;
    case 'rejected':
      return <>rejected rev {voter.revision} · {when}</>;
    case 'changes':
      return <>asked for changes to rev {voter.revision} · {when}</>;
    case 'stale':
      return <>answered rev {voter.revision}, which was replaced</>;
    case 'late':
      return <>answered after the review was over · {when}</>;
    case 'you':
      return forWhom(voter, nameOf);
    case 'may':
      return 'can also answer';
  }
}

function forWhom({ user, forUsers }: Voter, nameOf: NameOf): string {
  const others = forUsers.filter((one) => one !== user).map(nameOf);
  if (others.length === 0) return 'your answer counts';
  const isOwn = forUsers.includes(user);
  return `for ${isOwn ? 'yourself and ' : ''}${others.join(', ')}`;
}

function VoterRow({ voter, nameOf, isMe }: { voter: Voter; nameOf: NameOf; isMe: boolean }) {
  const [sign, tone] = SIGNS[voter.sign];
  return (
    <li className="flex gap-2 py-0.5" data-voter={voter.sign}>
      <span aria-hidden="true" className={classes('w-4 shrink-0 text-center', tone)}>
        {sign}
      </span>
      <span className="min-w-0 flex-1">
        <span className={classes(isMe && 'font-semibold')}>
          {isMe ? 'You' : <Untrusted text={nameOf(voter.user)} />}
        </span>{' '}
        <span className="text-meta text-ink-2">{voterWords(voter, nameOf)}</span>
        {voter.reason && (
          <span className="block text-meta text-ink-2 wrap-anywhere">
            “<Untrusted text={voter.reason} />”
          </span>
        )}
      </span>
    </li>
  );
}

export function QuorumCard({ task, nameOf }: { task: Task; nameOf: NameOf }) {
  const me = useMe();
  const stats = useQuery(statsQuery(task.id));
  const explain = useQuery(explainQuery(task.id));
  const approvals = useQuery(approvalsQuery(task.id));
  const { required_count: required = 0, approved_count: approved = 0 } = stats.data ?? {};
  const isReady = explain.data && approvals.data;
  const list = isReady ? voters(approvals.data.votes, explain.data.may_answer, task.digest, me.id) : [];
  const members = new Set(explain.data?.groups.flatMap((group) => group.members) ?? []);
  const isShort = isReady && task.state === 'REVIEWING' && members.size < required;
  return (
    <Card
      title="Quorum"
      className="max-lg:order-2"
      aside={stats.data && <strong data-quorum className="font-semibold">{approved} of {required}</strong>}
    >
      {stats.data && (
        <span aria-hidden="true" className="mb-2 flex h-1.5 gap-1">
          {Array.from({ length: Math.max(1, required) }, (_, index) => (
            <span key={index} className={classes('flex-1 rounded-full', index < approved ? 'bg-good-mark' : 'bg-line')} />
          ))}
        </span>
      )}
      {isReady ? (
        <ul>
          {list.map((voter, index) => (
            <VoterRow key={`${voter.user}-${index}`} voter={voter} nameOf={nameOf} isMe={voter.user === me.id} />
          ))}
          {list.length === 0 && <li className="text-ink-2">Nobody is asked.</li>}
        </ul>
      ) : (
        <CardWait error={explain.error ?? approvals.error} />
      )}
      {isShort && (
        <p className="mt-2 text-meta text-high">
          Only {members.size} of the {required} people it needs exist. It cannot pass as it is.
        </p>
      )}
      <Chain approvals={approvals.data?.approvals ?? []} nameOf={nameOf} />
    </Card>
  );
}

interface Place {
  readonly owner?: string;
  readonly route?: string;
  readonly chain?: readonly string[];
}

const ROUTES: Record<string, string> = {
  transfer: 'you answer instead',
  follow: 'your yes counts for them, too',
  handed_over: 'handed over to you',
  reassigned: 'asked in their place',
};

/** By which way the reader came to answer for somebody else. */
function Chain({ approvals, nameOf }: { approvals: readonly Schemas['Approval'][]; nameOf: NameOf }) {
  const me = useMe();
  const mine = approvals.filter(({ reviewer, status }) => reviewer === me.id && status !== 'SUPERSEDED');
  const places = (mine.at(-1)?.places ?? []) as Place[];
  const others = places.filter(({ route }) => route !== 'own');
  if (others.length === 0) return null;
  return (
    <div className="mt-3 border-t border-line pt-2.5">
      <h3 className="text-meta font-semibold">Delegation</h3>
      {others.map(({ owner, route, chain }, index) => (
        <p key={index} className="mt-1">
          {(chain ?? [owner ?? '', me.id]).map((user, step) => (
            <span key={step}>
              {step > 0 && ' → '}
              {user === me.id ? <strong className="font-semibold">You</strong> : <Untrusted text={nameOf(user)} />}
            </span>
          ))}{' '}
          <span className="text-meta text-ink-2">{ROUTES[route ?? ''] ?? route}</span>
        </p>
      ))}
    </div>
  );
}

const GATES: Record<string, string> = {
  submitted: 'Submitted', policy: 'Policy', approval: 'Approval', window: 'Time window', freeze: 'No freeze',
  locks: 'Locks free', capacity: 'Somebody to apply it',
};

export function GatesCard({ task }: { task: Task }) {
  const { data, error } = useQuery(explainQuery(task.id));
  const open = data?.gates.filter(({ is_open: isOpen }) => isOpen).length ?? 0;
  return (
    <Card
      title="Gates"
      className="max-lg:order-6"
      aside={data && <span className="text-meta text-ink-2">{open} of {data.gates.length} open</span>}
    >
      {data ? (
        <ul className="space-y-1">
          {data.gates.map((gate) => (
            <li key={gate.name} className="flex gap-2">
              <span aria-hidden="true" className={classes('w-4 shrink-0 text-center', gate.is_open ? 'text-good' : 'text-ink-3')}>
                {gate.is_open ? '✓' : '○'}
              </span>
              <span className="min-w-0">
                {GATES[gate.name] ?? gate.name}
                <span className="sr-only">{gate.is_open ? ': open.' : ': closed.'}</span>
                {!gate.is_open && <span className="block text-meta text-ink-2 wrap-anywhere">{gate.evidence}</span>}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <CardWait error={error} />
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
            ● held by <Untrusted text={who ? nameOf(who) : 'somebody'} /> · {left(holder.expires_at, now.there)}
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
  const areFree = data?.gates.find(({ name }) => name === 'locks')?.is_open ?? true;
  return (
    <Card title="Locks and way back" className="max-lg:order-7">
      <ul>
        {shown.resources.map(({ resource, mode }) => (
          <LockRow key={resource} resource={resource} mode={mode ?? 'exclusive'} areFree={areFree} nameOf={nameOf} />
        ))}
      </ul>
      <p className="mt-2 border-t border-line pt-2 text-meta text-ink-2">{ROLLBACK[shown.rollback.strategy]}</p>
      {shown.rollback.steps && (
        <p className="mt-1 font-mono text-meta wrap-anywhere whitespace-pre-wrap">
          <Untrusted text={shown.rollback.steps} lines />
        </p>
      )}
    </Card>
  );
}

interface Leaf {
  readonly who?: { readonly kind?: string; readonly id?: string; readonly agent?: string; readonly worker?: string };
  readonly what?: { readonly action?: string; readonly to?: string; readonly revision?: number };
  readonly when?: string;
  readonly why?: { readonly reason?: string | null };
}

function actorOf(who: Leaf['who'], nameOf: NameOf): string {
  const id = who?.agent ?? who?.id;
  if (id) return nameOf(id);
  return who?.worker ? 'the server' : (who?.kind ?? 'somebody');
}

const ACTIONS: Record<string, string> = {
  'task.create': 'proposed it', 'task.submit': 'handed it in', 'task.open_review': 'opened the review',
  'task.amend': 'changed it', 'task.approve': 'approved it', 'task.vote': 'answered',
  'task.reject': 'rejected it', 'task.request_changes': 'asked for changes', 'task.cancel': 'cancelled it',
};

export function AuditCard({ task, nameOf }: { task: Task; nameOf: NameOf }) {
  const { data, error } = useQuery(auditQuery(task.id));
  return (
    <Card title="Audit" className="max-lg:order-8" aside={data && <span className="text-meta text-ink-3">{data.items.length} entries</span>}>
      {data ? (
        <ol className="space-y-1">
          {data.items.map(({ id, leaf: raw }) => {
            const leaf = raw as Leaf;
            const action = leaf.what?.action ?? '';
            return (
              <li key={id} className="flex gap-2" title={`${id}${leaf.when ? ` · ${exactTime(leaf.when)}` : ''}`}>
                <time dateTime={leaf.when} className="shrink-0 font-mono text-meta text-ink-3">
                  {leaf.when ? clockTime(leaf.when) : ''}
                </time>
                <span className="min-w-0 text-meta wrap-anywhere">
                  <Untrusted text={actorOf(leaf.who, nameOf)} /> {ACTIONS[action] ?? action.replace(/^task\./, '').replaceAll('_', ' ')}
                  {leaf.what?.revision && <span className="text-ink-3"> · rev {leaf.what.revision}</span>}
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
            <Untrusted text={nameOf(task.agent)} /> has recorded no steps. Judge the effect alone.
          </>
        ) : (
          'A person proposed it; no agent had a part in it.'
        )}
      </p>
    </Card>
  );
}
