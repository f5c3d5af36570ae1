// A terminal that asks to be let in: its code as people type it, and what the page shows of it.
import type { Schemas } from '@/api/client';
import { Refused } from '@/api/problem';

export type DeviceRequest = Schemas['DeviceRequest'];

/** Without vowels and without letters that are taken for each other. */
const LETTERS = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/;

/** In its one spelling, or nothing while it is not whole. */
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

/** What has been said stays said; what nobody has answered in time is as good as unknown. */
export function stageOf({ code, request, error, now }: Known): Stage {
  if (!code) return 'typing';
  if (request && request.status !== 'pending') return request.status;
  if (error instanceof Refused && error.problem.status === 404) return 'gone';
  if (!request) return error ? 'failed' : 'loading';
  return Date.parse(request.expires_at) <= now ? 'gone' : 'asked';
}
