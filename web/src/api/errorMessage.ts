import { NoPasskey } from '@/confirm/passkey';
import { Refused } from './problem';

/** Returns the message for a change that was rejected or whose outcome is unknown. */
export function errorMessage(error: unknown): string {
  if (error instanceof NoPasskey) return error.message;
  if (!(error instanceof Refused))
    return 'No response. Check whether the change was applied before you retry.';
  const { title, detail, next_action: next } = error.problem;
  return [`${title}.`, detail && `${detail.replace(/\.$/, '')}.`, next.message]
    .filter(Boolean)
    .join(' ');
}
