// Device login: parsing of the typed code, and the stage that the page shows.
import type { Schemas } from '@/api/client';
import { Refused } from '@/api/problem';

export type DeviceRequest = Schemas['DeviceRequest'];

/** Letters of a code: no vowels and no letters that are easily confused. */
const LETTERS = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/;

/** Returns the code in its canonical form, or undefined while it is incomplete. */
export function codeOf(typed: string): string | undefined {
  const letters = typed.replace(/[\s-]/g, '').toUpperCase();
  return LETTERS.test(letters) ? `${letters.slice(0, 4)}-${letters.slice(4)}` : undefined;
}

export type Stage = 'typing' | 'loading' | 'gone' | 'failed' | 'asked' | 'approved' | 'denied';

interface Known {
  code: string | undefined;
  request: DeviceRequest | undefined;
  error: unknown;
  now: number;
}

/** A recorded answer stays visible; an unanswered request counts as unknown after its expiry. */
export function stageOf({ code, request, error, now }: Known): Stage {
  if (!code) return 'typing';
  if (request && request.status !== 'pending') return request.status;
  if (error instanceof Refused && error.problem.status === 404) return 'gone';
  if (!request) return error ? 'failed' : 'loading';
  return Date.parse(request.expires_at) <= now ? 'gone' : 'asked';
}
