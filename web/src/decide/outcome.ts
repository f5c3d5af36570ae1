// Outcome of a decision. A vote counts as recorded only with the server's receipt; an unknown
// outcome is queried, not assumed. Pure; `decide.ts` talks to the server.
import type { Schemas } from '@/api/client';
import { isUnclear, type Problem, Refused } from '@/api/problem';
import type { Vote } from '@/api/queries';

export type Answer = Schemas['VoteAnswer'];

export interface Intent {
  readonly task: string;
  readonly number: number;
  readonly answer: Answer;
  readonly revision: number;
  readonly digest: string;
  readonly reason: string | undefined;
  /** Idempotency key; the same for every attempt at this decision. */
  readonly key: string;
}

export type Outcome =
  | { readonly kind: 'none' }
  | { readonly kind: 'recording'; readonly intent: Intent }
  | {
      readonly kind: 'recorded';
      readonly intent: Intent;
      readonly receipt: string | undefined;
      readonly isCounted: boolean;
    }
  | { readonly kind: 'stale'; readonly intent: Intent }
  | { readonly kind: 'refused'; readonly intent: Intent; readonly problem: Problem }
  | { readonly kind: 'unclear'; readonly intent: Intent; readonly looks: number }
  | { readonly kind: 'absent'; readonly intent: Intent };

export type Input =
  | { readonly kind: 'send'; readonly intent: Intent }
  | { readonly kind: 'answered'; readonly voted: Schemas['Voted'] }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'looked'; readonly votes: readonly Vote[]; readonly me: string }
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'leave' };

export const NONE: Outcome = { kind: 'none' };

/** While a decision is in progress, no other can start. */
export function isOpen(outcome: Outcome): boolean {
  return outcome.kind === 'recording' || outcome.kind === 'unclear';
}

export function isSameVote(vote: Vote, intent: Intent, me: string): boolean {
  return (
    vote.voter_id === me &&
    vote.revision === intent.revision &&
    vote.answer === intent.answer &&
    vote.digest === intent.digest &&
    !vote.withdrawn
  );
}

function failed(intent: Intent, error: unknown): Outcome {
  if (isUnclear(error)) return { kind: 'unclear', intent, looks: 0 };
  if (!(error instanceof Refused)) return { kind: 'unclear', intent, looks: 0 };
  if (error.is('stale_revision')) return { kind: 'stale', intent };
  return { kind: 'refused', intent, problem: error.problem };
}

export function next(outcome: Outcome, input: Input): Outcome {
  if (input.kind === 'send') {
    return isOpen(outcome) ? outcome : { kind: 'recording', intent: input.intent };
  }
  if (input.kind === 'leave') return isOpen(outcome) ? outcome : NONE;
  if (!isOpen(outcome)) return outcome;
  const { intent } = outcome as Extract<Outcome, { intent: Intent }>;
  switch (input.kind) {
    case 'answered': {
      const { receipt, counted } = input.voted;
      return { kind: 'recorded', intent, receipt, isCounted: counted };
    }
    case 'failed':
      return failed(intent, input.error);
    case 'looked': {
      const found = input.votes.find((vote) => isSameVote(vote, intent, input.me));
      if (!found) return { kind: 'absent', intent };
      return { kind: 'recorded', intent, receipt: undefined, isCounted: found.counted };
    }
    case 'unanswered':
      return outcome.kind === 'unclear' ? { ...outcome, looks: outcome.looks + 1 } : outcome;
  }
}

/** Poll interval: half a second, doubled up to eight seconds. */
export function lookIn(looks: number): number {
  return Math.min(8_000, 500 * 2 ** looks);
}
