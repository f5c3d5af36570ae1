import type { TaskSummary } from '@/api/queries';
import { Named } from '@/ui/Named';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';

type TaskDecision = NonNullable<TaskSummary['decision']>;

const OUTCOMES: Record<TaskDecision['outcome'], string> = {
  approved: 'Approved',
  rejected: 'Rejected',
  changes_requested: 'Changes requested',
  cancelled: 'Cancelled',
  expired: 'Expired',
};

/** How and why the task was decided. The votes of an approval are listed elsewhere. */
export function DecisionNote({
  decision,
  nameOf,
}: {
  decision: TaskDecision | null | undefined;
  nameOf: (id: string) => string;
}) {
  if (!decision || decision.outcome === 'approved') return null;
  return (
    <p
      data-decision={decision.outcome}
      className="mt-2 rounded-control bg-sunken px-3 py-1.5 wrap-anywhere"
    >
      <strong className="font-semibold">{OUTCOMES[decision.outcome]}</strong> by{' '}
      <Named text={nameOf(decision.by)} /> · revision {decision.revision} · <Ago at={decision.at} />
      {decision.reason && (
        <>
          : <Untrusted text={decision.reason} />
        </>
      )}
    </p>
  );
}
