import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '@/api/client';
import type { ReactNode } from 'react';
import { approvalsQuery, explainQuery, statsQuery, type Task } from '@/api/queries';
import { useMe } from '@/session/session';
import { Card, CardWait } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { Named } from '@/ui/Named';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { MARKS } from './marks';
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
      return (
        <>
          approved rev {voter.revision}
          {voter.carriedFrom ? ` (carried from rev ${voter.carriedFrom})` : ''} · {when}
        </>
      );
    case 'rejected':
      return (
        <>
          rejected rev {voter.revision} · {when}
        </>
      );
    case 'changes':
      return (
        <>
          requested changes to rev {voter.revision} · {when}
        </>
      );
    case 'stale':
      return <>voted on rev {voter.revision}, which was replaced</>;
    case 'late':
      return <>voted after the review had ended · {when}</>;
    case 'you':
      return forWhom(voter, nameOf);
    case 'may':
      return 'can vote';
  }
}

function forWhom({ user, forUsers }: Voter, nameOf: NameOf): string {
  const others = forUsers.filter((one) => one !== user).map(nameOf);
  if (others.length === 0) return 'your vote counts';
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
          {isMe ? 'You' : <Named text={nameOf(voter.user)} />}
        </span>{' '}
        <span className="text-meta text-ink-2">{voterWords(voter, nameOf)}</span>
        {voter.marks?.map((mark) => (
          <span key={mark} className="block text-meta text-high" data-mark={mark}>
            ! {MARKS[mark]}
          </span>
        ))}
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
  const list = isReady
    ? voters(approvals.data.votes, explain.data.may_answer, task.digest, me.id)
    : [];
  const members = new Set(explain.data?.groups.flatMap((group) => group.member_ids) ?? []);
  const isShort = isReady && task.state === 'REVIEWING' && members.size < required;
  return (
    <Card
      title="Quorum"
      className="max-lg:order-4"
      aside={
        stats.data && (
          <strong data-quorum className="font-semibold">
            {approved} of {required}
          </strong>
        )
      }
    >
      {stats.data && (
        <span aria-hidden="true" className="mb-2 flex h-1.5 gap-1">
          {Array.from({ length: Math.max(1, required) }, (_, index) => (
            <span
              key={index}
              className={classes(
                'flex-1 rounded-full',
                index < approved ? 'bg-good-mark' : 'bg-line',
              )}
            />
          ))}
        </span>
      )}
      {isReady ? (
        <ul>
          {list.map((voter, index) => (
            <VoterRow
              key={`${voter.user}-${index}`}
              voter={voter}
              nameOf={nameOf}
              isMe={voter.user === me.id}
            />
          ))}
          {list.length === 0 && <li className="text-ink-2">No reviewers.</li>}
        </ul>
      ) : (
        <CardWait error={explain.error ?? approvals.error} room="h-36" />
      )}
      {isShort && (
        <p className="mt-2 text-meta text-high">
          Only {members.size} of the {required} required reviewers exist. The task cannot be
          approved.
        </p>
      )}
      <Chain approvals={approvals.data?.approvals ?? []} nameOf={nameOf} />
    </Card>
  );
}

interface Seat {
  readonly owner?: string;
  readonly route?: string;
  readonly chain?: readonly string[];
}

const ROUTES: Record<string, string> = {
  transfer: 'you vote instead',
  follow: 'your approval also counts for them',
  handed_over: 'handed over to you',
  reassigned: 'reassigned to you',
};

/** Delegation chain through which the reader votes for another reviewer. */
function Chain({
  approvals,
  nameOf,
}: {
  approvals: readonly Schemas['Approval'][];
  nameOf: NameOf;
}) {
  const me = useMe();
  const mine = approvals.filter(
    ({ reviewer_id: reviewer, status }) => reviewer === me.id && status !== 'SUPERSEDED',
  );
  const seats = (mine.at(-1)?.seats ?? []) as Seat[];
  const others = seats.filter(({ route }) => route !== 'own');
  if (others.length === 0) return null;
  return (
    <div className="mt-3 border-t border-line pt-2.5">
      <h3 className="text-meta font-semibold">Delegation</h3>
      {others.map(({ owner, route, chain }, index) => (
        <p key={index} className="mt-1">
          {(chain ?? [owner ?? '', me.id]).map((user, step) => (
            <span key={step}>
              {step > 0 && ' → '}
              {user === me.id ? (
                <strong className="font-semibold">You</strong>
              ) : (
                <Named text={nameOf(user)} />
              )}
            </span>
          ))}{' '}
          <span className="text-meta text-ink-2">{ROUTES[route ?? ''] ?? route}</span>
        </p>
      ))}
    </div>
  );
}
