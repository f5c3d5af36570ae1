import { Refused } from '@/api/problem';
import { told } from '@/api/told';

/** Why something was refused, beside what was tried: the server's own words, every place it
 *  names, and the number under which somebody can look it up. */
export function Refusal({ error }: { error: unknown }) {
  if (!error) return null;
  const problem = error instanceof Refused ? error.problem : undefined;
  return (
    <div
      role="alert"
      data-refusal={problem?.code}
      className="rounded-control border border-bad-mark px-3 py-2"
    >
      <p className="text-bad">{told(error)}</p>
      {problem?.errors && (
        <ul className="mt-1 list-disc pl-5 text-meta wrap-anywhere">
          {problem.errors.map(({ line, column, path, message }, index) => (
            <li key={index}>
              {line != null && `Line ${line}, column ${column ?? 1}: `}
              {path && <code className="font-mono">{path}</code>} {message}
            </li>
          ))}
        </ul>
      )}
      {problem && (
        <p className="mt-1 font-mono text-meta text-ink-3">
          {problem.code} · {problem.request_id}
        </p>
      )}
    </div>
  );
}
