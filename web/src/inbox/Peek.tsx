import { useQuery } from '@tanstack/react-query';
import type { Task } from '@/api/queries';
import { approvalsQuery, riskQuery, taskQuery } from '@/api/queries';
import { useNames } from '@/api/names';
import { type Decision, useDecision } from '@/decide/useDecision';
import { OutcomeNote } from '@/decide/OutcomeNote';
import { type DecisionState, decisionState, why } from '@/decide/decisionState';
import { type Armed, reviewFirst, useArmed } from '@/decide/useArmed';
import { useSettled } from '@/list/useSettled';
import { type Read, ReadingArea, useReading } from '@/reading/react';
import { Voted } from '@/review/Dock';
import { Content } from '@/review/Content';
import { EffectHead } from '@/review/EffectHead';
import { shortDigest } from '@/review/effect';
import { useMe } from '@/session/session';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { Risk } from '@/ui/Risk';
import { Trouble } from '@/ui/Trouble';
import { Says } from '@/review/Says';

export interface Peeked {
  readonly task: Task | undefined;
  readonly decisionState: DecisionState;
  readonly decision: Decision;
  readonly armed: Armed;
  readonly read: Read;
  readonly error: unknown;
}

const NOT_YET: DecisionState = { kind: 'unasked' };

/** The task under the cursor, as far as it is loaded. Rows that a held key passes are not
 *  requested. */
export function usePeek(id: string | undefined): Peeked {
  const me = useMe();
  const isSettled = useSettled(id ?? '');
  const enabled = isSettled && Boolean(id);
  const task = useQuery({ ...taskQuery(id ?? ''), enabled });
  const approvals = useQuery({ ...approvalsQuery(id ?? ''), enabled });
  const whole = task.data?.id === id ? task.data : undefined;
  const now =
    whole && approvals.data
      ? decisionState({
          me: { id: me.id, isAgent: me.isAgent, mayDecide: me.scopes.includes('decide') },
          task: whole,
          shown: whole,
          approvals: approvals.data.approvals,
          votes: approvals.data.votes,
        })
      : NOT_YET;
  const shown = whole && approvals.data ? whole : undefined;
  const read = useReading(shown && `${shown.id} ${shown.revision} ${shown.digest}`);
  const decision = useDecision(whole, now, read.bar);
  const canApprove = now.kind === 'decide' && !decision.approveBar && shown && !reviewFirst(shown);
  const armed = useArmed(canApprove ? shown : undefined, () => decision.ask('approve'));
  return { task: shown, decisionState: now, decision, armed, read, error: task.error };
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

interface AnswersProps {
  task: Task;
  peeked: Peeked;
  onOpen: () => void;
}

function Answers({ task, peeked, onOpen }: AnswersProps) {
  const { decisionState: now, decision, armed, read } = peeked;
  const reason = why(now) ?? decision.bar;
  const isBusy = decision.outcome.kind === 'recording';
  const weighty = now.kind === 'decide' ? reviewFirst(task) : undefined;
  const { isArmed } = armed;
  const note = isArmed
    ? `Press A again to approve rev ${task.revision} · Esc`
    : (weighty ?? (now.kind === 'decide' && !read.isMoment ? read.bar : undefined));
  return (
    <>
      {reason && now.kind !== 'decide' && <p className="pb-3 text-meta text-ink-2">{reason}</p>}
      <p
        role="status"
        data-armed={isArmed ? 'armed' : 'idle'}
        className={note && classes('pb-3 text-meta', isArmed ? 'font-semibold' : 'text-ink-2')}
      >
        {note}
      </p>
      <div className="flex gap-2">
        {weighty ? (
          <Button tone="primary" keys="a" onClick={onOpen}>
            Review
          </Button>
        ) : (
          <Button
            tone="primary"
            keys="a"
            disabledReason={reason ?? decision.approveBar}
            onClick={armed.press}
          >
            {isBusy ? 'Recording…' : isArmed ? 'Approve now' : 'Approve'}
          </Button>
        )}
        <Button
          tone="plain"
          keys="r"
          disabledReason={reason}
          onClick={() => decision.ask('reject')}
        >
          Reject…
        </Button>
        {!weighty && (
          <Button keys="Enter" onClick={onOpen}>
            Open
          </Button>
        )}
      </div>
    </>
  );
}

interface PeekProps {
  peeked: Peeked;
  /** Whether rows are selected: then only the bar below the list decides. */
  isSelecting: boolean;
  onOpen: () => void;
}

/** Preview with everything that a vote covers, effect first. */
export function Peek({ peeked, isSelecting, onOpen }: PeekProps) {
  const nameOf = useNames();
  const { task, decisionState: now, decision } = peeked;
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
  const again = decision.outcome.kind === 'absent' ? decision.outcome.intent.answer : 'approve';
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
        aria-label="Effect"
      >
        <p className="font-mono text-meta text-ink-3">
          T-{task.number} · rev {task.revision} · {shortDigest(task.digest)}
        </p>
        <EffectHead shown={task} level={2} />
        <ReadingArea reading={peeked.read.reading}>
          <Content shown={task} />
        </ReadingArea>
        <div className="space-y-1">
          <Risk level={task.risk.level} score={task.risk.score} isWide />
          <WhyRisk id={task.id} />
        </div>
        <Says task={task} nameOf={nameOf} />
        <dl className="space-y-1.5">
          {task.ticket && <Fact word="Ticket">{task.ticket}</Fact>}
          {now.kind === 'decide' && <Fact word="You vote">{seatsOf(now, nameOf)}</Fact>}
        </dl>
      </div>
      <OutcomeNote outcome={decision.outcome} onAgain={() => decision.ask(again)} />
      <div className="border-t border-line p-4" data-peek-state={now.kind}>
        {isSelecting ? (
          <p className="text-meta text-ink-2">
            The bar below the list decides on the selected tasks. Clear the selection to decide on
            this one.
          </p>
        ) : now.kind === 'voted' ? (
          <div className="flex flex-wrap items-center gap-2">
            <Voted task={task} decisionState={now} />
            <Button keys="Enter" onClick={onOpen}>
              Open
            </Button>
          </div>
        ) : (
          <Answers task={task} peeked={peeked} onOpen={onOpen} />
        )}
      </div>
      {decision.dialog}
    </aside>
  );
}

function seatsOf(
  now: Extract<DecisionState, { kind: 'decide' }>,
  nameOf: (id: string) => string,
): string {
  const seats = now.approval.seats as { owner?: string; route?: string }[];
  const others = seats
    .filter(({ route }) => route !== 'own')
    .map(({ owner }) => nameOf(owner ?? ''));
  const isOwn = seats.some(({ route }) => route === 'own');
  if (others.length === 0) return 'for yourself';
  return isOwn ? `for yourself and ${others.join(', ')}` : `for ${others.join(', ')}`;
}
