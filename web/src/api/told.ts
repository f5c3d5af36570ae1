import { NoPasskey } from '@/confirm/passkey';
import { Refused } from './problem';

/** What to say when a change was refused, or when nobody knows what became of it. */
export function told(error: unknown): string {
  if (error instanceof NoPasskey) return error.message;
  if (!(error instanceof Refused)) return 'No answer came. Look again before you try once more.';
  const { title, detail, next_action: next } = error.problem;
  return [`${title}.`, detail && `${detail.replace(/\.$/, '')}.`, next.says]
    .filter(Boolean)
    .join(' ');
}
