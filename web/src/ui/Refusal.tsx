import { Refused } from '@/api/problem';
import { errorMessage } from '@/api/errorMessage';

/** Error message next to the action that failed: the server's text, every field it names, and
 *  the request id for support. */
export function Refusal({ error }: { error: unknown }) {
  if (!error) return null;
  const look = 'w-full rounded-control border border-bad-mark px-3 py-2 wrap-anywhere';
  if (!(error instanceof Refused)) {
    return (
      <p role="alert" className={look}>
        {errorMessage(error)}
      </p>
    );
  }
  const { code, title, detail, errors, next_action: next, request_id: request } = error.problem;
  return (
    <div role="alert" data-refusal={code} className={look}>
      <p className="font-medium text-bad">{title}</p>
      <p>{detail}</p>
      {errors && (
        <ul className="mt-1 list-disc pl-5 text-meta">
          {errors.map(({ line, column, path, message }, index) => (
            <li key={index}>
              {line != null && `Line ${line}, column ${column ?? 1}: `}
              {path && <code className="font-mono">{path}</code>} {message}
            </li>
          ))}
        </ul>
      )}
      <p className="mt-1 text-meta text-ink-2">{next.message}</p>
      <p className="mt-1 font-mono text-meta text-ink-3">
        {code} · {request}
      </p>
    </div>
  );
}
