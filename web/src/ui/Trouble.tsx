import { Refused } from '@/api/problem';
import { Button } from './Button';

/** Full-page error: what failed, what to do next, and the request id for support. */
export function Trouble({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = error instanceof Refused ? error.problem : undefined;
  const title = problem?.title ?? 'The server did not respond';
  const detail = problem?.detail ?? 'The page could not be loaded. Try again in a moment.';
  return (
    <div role="alert" className="mx-auto max-w-[560px] px-6 py-16">
      <h2 className="text-title font-semibold">{title}</h2>
      <p className="mt-2 text-ink-2">{detail}</p>
      {problem && <p className="mt-2 text-ink-2">{problem.next_action.message}</p>}
      {problem && (
        <p className="mt-3 font-mono text-meta text-ink-3">
          {problem.code} · {problem.request_id}
        </p>
      )}
      {onRetry && (
        <Button className="mt-5" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
