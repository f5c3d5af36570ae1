import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { toast } from 'sonner';
import type { Task } from '@/api/queries';
import { useWriteBar } from '@/live/react';
import { useMe } from '@/session/session';
import { decide, keyFor, useOutcome } from './decide';
import { type Answer, isOpen, type Outcome } from './outcome';
import { ReasonDialog } from './ReasonDialog';
import type { DecisionState } from './decisionState';
import { withdrawVote } from './withdraw';

export interface Decision {
  readonly outcome: Outcome;
  /** Reason why no decision is possible now, if any. */
  readonly bar: string | undefined;
  /** Reason why one cannot approve now, if any; it includes that the content was not read. */
  readonly approveBar: string | undefined;
  /** Starts a decision: immediately, or with a dialog if a reason or a confirmation is needed. */
  readonly ask: (answer: Answer) => void;
  readonly dialog: ReactNode;
}

const DONE: Record<Answer, string> = {
  approve: 'Approved',
  reject: 'Rejected',
  request_changes: 'Changes requested',
};

function tell(outcome: Outcome, onWithdraw: (() => void) | undefined): void {
  if (outcome.kind !== 'recorded') return;
  const { intent, receipt, isCounted } = outcome;
  const what = `${DONE[intent.answer]} T-${intent.number}, revision ${intent.revision}`;
  const description = receipt ? `Receipt ${receipt}` : 'Your vote is recorded.';
  const action = onWithdraw && { label: 'Withdraw', onClick: onWithdraw };
  if (isCounted) toast.success(what, { description, ...(action ? { action } : {}) });
  else
    toast.warning('Recorded, but it did not count', {
      description: 'The review ended before your vote arrived.',
    });
}

/** `unread` is the reason why the content does not count as read yet, if any. A rejection needs no
 *  reading: it has no effect on anything, and what is hidden is a reason to reject. */
export function useDecision(
  shown: Task | undefined,
  decisionState: DecisionState,
  unread: string | undefined,
): Decision {
  const client = useQueryClient();
  const me = useMe();
  const offline = useWriteBar();
  const outcome = useOutcome(shown?.id);
  const [asking, setAsking] = useState<Answer>();
  const isBusy = isOpen(outcome);
  const bar = offline ?? (isBusy ? 'Your decision is being recorded.' : undefined);

  const approveBar = bar ?? unread;

  const send = async (answer: Answer, reason: string | undefined) => {
    setAsking(undefined);
    if (!shown || decisionState.kind !== 'decide') return;
    const end = await decide(client, me.id, {
      task: shown.id,
      number: shown.number,
      answer,
      revision: shown.revision,
      digest: shown.digest,
      reason,
      key: keyFor(shown.id, answer, shown.revision),
    });
    const { approval } = decisionState;
    tell(end, () => void withdrawVote(client, shown.id, approval.id));
  };

  const ask = (answer: Answer) => {
    const isBarred = answer === 'approve' ? approveBar : bar;
    if (isBarred || !shown || decisionState.kind !== 'decide') return;
    const needsMore = answer !== 'approve' || shown.risk.level === 'critical';
    if (needsMore) setAsking(answer);
    else void send(answer, undefined);
  };

  const dialog = asking && shown && (
    <ReasonDialog
      answer={asking}
      task={shown}
      onClose={() => setAsking(undefined)}
      onSend={(reason) => void send(asking, reason)}
    />
  );
  return { outcome, bar, approveBar, ask, dialog };
}
