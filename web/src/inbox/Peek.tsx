import { useQuery } from '@tanstack/react-query';
import type { Task } from '@/api/queries';
import { approvalsQuery, riskQuery, taskQuery } from '@/api/queries';
import { useNames } from '@/api/names';
import { type Decision, useDecision } from '@/decide/useDecision';
import { OutcomeNote } from '@/decide/OutcomeNote';
import { type Stand, stand, why } from '@/decide/stand';
import { EffectHead, ChangeLines } from '@/review/EffectHead';
import { shortDigest } from '@/review/effect';
import { useMe } from '@/session/session';
import { Button } from '@/ui/Button';
import { Risk } from '@/ui/Risk';
import { Trouble } from '@/ui/Trouble';
import { Says } from '@/review/Says';

export interface Peeked {
  readonly task: Task | undefined;
  readonly stand: Stand;
  readonly decision: Decision;
  readonly error: unknown;
}

const NOT_YET: Stand = { kind: 'unasked' };

/** The task under the cursor, as far as it has been read. */
export function usePeek(id: string | undefined, onRecorded: () => void): Peeked {
  const me = useMe();
  const task = useQuery({ ...taskQuery(id ?? ''), enabled: Boolean(id) });
  const approvals = useQuery({ ...approvalsQuery(id ?? ''), enabled: Boolean(id) });
  const whole = task.data?.id === id ? task.data : undefined;
  const now =
    whole && approvals.data
      ? stand({
          me: { id: me.id, isAgent: me.isAgent, mayDecide: me.scopes.includes('decide') },
          task: whole,
          shown: whole,
          approvals: approvals.data.approvals,
          votes: approvals.data.votes,
        })
      : NOT_YET;
  const decision = useDecision(whole, now, onRecorded);
  return {
    task: whole && approvals.data ? whole : undefined,
    stand: now,
    decision,
    error: task.error,
  };
}

function Fact({ word, children }: { word: string; children: React.ReactNode }) {
  return (
    <div className="grid grid-cols-[88px_minmax(0,1fr)] gap-2">
      <dt className="text-ink-3">{word}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </div>
  );
}

function WhyRisk({ id }: { id: string }) {
  const { data } = useQuery(riskQuery(id));
  const top = [...(data?.factors ?? [])].sort((a, b) => b.contribution_bp - a.contribution_bp)[0];
  return top ? <p className="text-meta text-ink-2">{top.sentence}</p> : null;
}

/** Everything that a quick decision needs, effect first. */
export function Peek({ peeked, onOpen }: { peeked: Peeked; onOpen: () => void }) {
  const nameOf = useNames();
  const { task, stand: now, decision } = peeked;
  if (!task) {
    return (
      <aside
        aria-label="Preview"
        aria-busy="true"
        className="w-[380px] shrink-0 border-l border-line bg-surface p-5"
      >
        {peeked.error ? (
          <Trouble error={peeked.error} />
        ) : (
          <span className="waiting block h-6 w-2/3" />
        )}
      </aside>
    );
  }
  const reason = why(now) ?? decision.bar;
  const isBusy = decision.outcome.kind === 'recording';
  return (
    <aside
      aria-label="Preview"
      data-peek={task.id}
      className="flex w-[380px] shrink-0 flex-col border-l border-line bg-surface"
    >
      <div
        className="min-h-0 flex-1 space-y-4 overflow-y-auto p-5"
        tabIndex={0}
        role="group"
        aria-label="What it does"
      >
        <p className="font-mono text-meta text-ink-3">
          T-{task.number} · rev {task.revision} · {shortDigest(task.digest)}
        </p>
        <EffectHead effect={task.effect} resources={task.resources} level={2} />
        <ChangeLines effect={task.effect} max={4} />
        <div className="space-y-1">
          <Risk level={task.risk.level} score={task.risk.score} isWide />
          <WhyRisk id={task.id} />
        </div>
        <Says task={task} nameOf={nameOf} />
        <dl className="space-y-1.5">
          <Fact word="Type">
            <span className="font-mono text-meta">{task.type}</span>
          </Fact>
          {task.ticket && <Fact word="Ticket">{task.ticket}</Fact>}
          {now.kind === 'decide' && <Fact word="You answer">{placesOf(now, nameOf)}</Fact>}
        </dl>
      </div>
      <OutcomeNote outcome={decision.outcome} onAgain={() => decision.ask('approve')} />
      <div className="border-t border-line p-4">
        {reason && now.kind !== 'decide' && <p className="pb-3 text-meta text-ink-2">{reason}</p>}
        <div className="flex gap-2">
          <Button tone="primary" keys="a" barred={reason} onClick={() => decision.ask('approve')}>
            {isBusy ? 'Recording…' : 'Approve'}
          </Button>
          <Button tone="plain" keys="r" barred={reason} onClick={() => decision.ask('reject')}>
            Reject…
          </Button>
          <Button keys="Enter" onClick={onOpen}>
            Open
          </Button>
        </div>
      </div>
      {decision.dialog}
    </aside>
  );
}

function placesOf(now: Extract<Stand, { kind: 'decide' }>, nameOf: (id: string) => string): string {
  const places = now.approval.places as { owner?: string; route?: string }[];
  const others = places
    .filter(({ route }) => route !== 'own')
    .map(({ owner }) => nameOf(owner ?? ''));
  const isOwn = places.some(({ route }) => route === 'own');
  if (others.length === 0) return 'for yourself';
  return isOwn ? `for yourself and ${others.join(', ')}` : `for ${others.join(', ')}`;
}
