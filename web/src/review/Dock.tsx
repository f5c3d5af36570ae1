import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Task, Vote } from '@/api/queries';
import { OutcomeNote } from '@/decide/OutcomeNote';
import type { Decision } from '@/decide/useDecision';
import { type DecisionState, why } from '@/decide/decisionState';
import { withdrawVote } from '@/decide/withdraw';
import { useWriteBar } from '@/live/react';
import { Button } from '@/ui/Button';
import { stateWord } from '@/ui/StateChip';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { useIsPhone } from '@/ui/useIsPhone';
import { gravest, shortDigest } from './effect';

const ANSWERS: Record<Vote['answer'], string> = {
  approve: 'You approved',
  reject: 'You rejected',
  request_changes: 'You requested changes to',
};

function Irreversible({ shown }: { shown: Task }) {
  const steps = gravest(shown.effect.changes).filter(({ irreversible }) => irreversible);
  const most = useIsPhone() ? 1 : 3;
  if (steps.length === 0) return null;
  return (
    <p className="px-5 pt-2 text-meta text-high max-md:px-4">
      <strong className="font-semibold">▲ Cannot be undone: </strong>
      {steps.slice(0, most).map((step, index) => (
        <span key={index} className="font-mono wrap-anywhere">
          {index > 0 && ', '}
          <Untrusted text={step.summary} />
        </span>
      ))}
      {steps.length > most && ` and ${steps.length - most} more`}
    </p>
  );
}

export function Voted({
  task,
  decisionState,
}: {
  task: Task;
  decisionState: Extract<DecisionState, { kind: 'voted' }>;
}) {
  const client = useQueryClient();
  const bar = useWriteBar();
  const { vote, approval } = decisionState;
  const [isSending, setSending] = useState(false);
  const withdraw = async (id: string) => {
    setSending(true);
    await withdrawVote(client, task.id, id);
    setSending(false);
  };
  const isReviewing = task.state === 'REVIEWING';
  const canWithdraw = (isReviewing || task.state === 'APPROVED') && vote.counted;
  return (
    <>
      <p className="flex-1">
        <strong className="font-semibold">
          <span aria-hidden="true">✓ </span>
          {ANSWERS[vote.answer]} revision {vote.revision}
        </strong>{' '}
        <span className="text-ink-2">
          <Ago at={vote.at} />
          {!vote.counted && ' — not counted: the review had ended'}
          {!isReviewing && ` · now ${stateWord(task.state)}`}
        </span>
      </p>
      {canWithdraw && approval && (
        <Button disabledReason={bar} onClick={() => !isSending && void withdraw(approval.id)}>
          {isSending ? 'Withdrawing…' : 'Withdraw vote'}
        </Button>
      )}
    </>
  );
}

interface Props {
  task: Task;
  shown: Task;
  decisionState: DecisionState;
  decision: Decision;
  /** Whether the key was pressed once. */
  isArmed: boolean;
  onView: () => void;
}

function Body({ task, shown, decisionState, decision, isArmed, onView }: Props) {
  if (decisionState.kind === 'replaced') {
    return (
      <>
        <p role="alert" className="flex-1 text-medium max-md:basis-full">
          <strong className="font-semibold">
            Revision {decisionState.to} replaced the one you are reading.
          </strong>{' '}
          Review the changes before you decide.
        </p>
        <Button tone="primary" disabledReason="Review the changes first." className="max-md:flex-1">
          Approve rev {decisionState.to}
        </Button>
        <Button keys="v" className="max-md:flex-1" onClick={onView}>
          Review changes
        </Button>
      </>
    );
  }
  if (decisionState.kind === 'voted') return <Voted task={task} decisionState={decisionState} />;
  const reason = why(decisionState) ?? decision.bar;
  const approveReason = why(decisionState) ?? decision.approveBar;
  const isBusy = decision.outcome.kind === 'recording' || decision.outcome.kind === 'unclear';
  return (
    <>
      <p
        className="flex-1 text-meta text-ink-2 max-md:basis-full"
        data-dock-says
        data-armed={isArmed ? 'armed' : 'idle'}
        role="status"
      >
        {isArmed ? (
          <strong className="font-semibold">
            Press A again to approve revision {shown.revision} · Esc
          </strong>
        ) : (
          (approveReason ?? (
            <>
              You decide on revision {shown.revision}{' '}
              <span className="font-mono">({shortDigest(shown.digest)})</span>
            </>
          ))
        )}
      </p>
      <Button keys="c" disabledReason={reason} onClick={() => decision.ask('request_changes')}>
        <span className="max-md:hidden">Request changes</span>
        <span className="md:hidden">Changes…</span>
      </Button>
      <Button tone="danger" keys="r" disabledReason={reason} onClick={() => decision.ask('reject')}>
        Reject…
      </Button>
      <Button
        tone="primary"
        keys="a"
        disabledReason={approveReason}
        className="max-md:flex-1"
        onClick={() => decision.ask('approve')}
      >
        {isBusy ? 'Recording…' : `Approve rev ${shown.revision}`}
      </Button>
    </>
  );
}

/** Bar with the decision buttons. It names the revision and lists irreversible changes. */
export function Dock(props: Props) {
  const { decisionState, decision, shown } = props;
  const again = decision.outcome.kind === 'absent' ? decision.outcome.intent.answer : 'approve';
  return (
    <div
      data-dock={decisionState.kind}
      role="region"
      aria-label="Decision"
      className="shrink-0 border-t border-line bg-surface"
    >
      <OutcomeNote outcome={decision.outcome} onAgain={() => decision.ask(again)} />
      {decisionState.kind === 'decide' && <Irreversible shown={shown} />}
      <div className="flex min-h-[56px] flex-wrap items-center gap-2.5 px-5 py-2.5 max-md:px-4">
        <Body {...props} />
      </div>
      {decision.dialog}
    </div>
  );
}
