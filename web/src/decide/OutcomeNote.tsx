import { Button } from '@/ui/Button';
import type { Outcome } from './outcome';

const BOX = 'flex flex-wrap items-center gap-x-3 gap-y-2 px-5 py-2.5 max-md:px-4';

/** Outcome of the last decision, shown above the buttons. */
export function OutcomeNote({ outcome, onAgain }: { outcome: Outcome; onAgain: () => void }) {
  switch (outcome.kind) {
    case 'unclear':
      return (
        <div role="alert" className={`${BOX} bg-medium-soft text-medium`}>
          <strong className="font-semibold">Unknown result — checking…</strong>
          <span>
            No response. Checking whether your vote was recorded; nothing is sent again until then.
          </span>
        </div>
      );
    case 'absent':
      return (
        <div role="alert" className={`${BOX} bg-medium-soft text-medium`}>
          <strong className="font-semibold">Not recorded.</strong>
          <span className="flex-1 max-md:basis-full">
            The server has no vote of yours. It is safe to try again.
          </span>
          <Button size="small" onClick={onAgain}>
            Try again
          </Button>
        </div>
      );
    case 'refused':
      return (
        <div role="alert" className={`${BOX} bg-high-soft text-high`}>
          <strong className="font-semibold">{outcome.problem.title}.</strong>
          <span>
            {outcome.problem.detail}. {outcome.problem.next_action.message}
          </span>
          <span className="font-mono text-meta">{outcome.problem.request_id}</span>
        </div>
      );
    case 'stale':
      return (
        <div role="alert" className={`${BOX} bg-medium-soft text-medium`}>
          <strong className="font-semibold">Nothing was recorded.</strong>
          <span>The task changed before your vote arrived.</span>
        </div>
      );
    default:
      return null;
  }
}
