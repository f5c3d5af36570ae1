// Sends decisions and determines their outcome. One decision per task at a time, shared by all
// parts of the page, so that a second click finds the first.
import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { api, unwrap } from '@/api/client';
import { refetch } from '@/api/refetch';
import { type Answer, type Input, type Intent, lookIn, next, NONE, type Outcome } from './outcome';

const ROUTES = {
  approve: '/v1/tasks/{id}/approve',
  reject: '/v1/tasks/{id}/reject',
  request_changes: '/v1/tasks/{id}/request-changes',
} as const satisfies Record<Answer, string>;

const outcomes = new Map<string, Outcome>();
const listeners = new Set<() => void>();

export function outcomeOf(task: string): Outcome {
  return outcomes.get(task) ?? NONE;
}

function take(task: string, input: Input): Outcome {
  const outcome = next(outcomeOf(task), input);
  outcomes.set(task, outcome);
  for (const listener of listeners) listener();
  return outcome;
}

export function onOutcomes(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useOutcome(task: string | undefined): Outcome {
  return useSyncExternalStore(onOutcomes, () => (task ? outcomeOf(task) : NONE));
}

/** Finished decisions are dropped when the reader moves on. */
export function leave(task: string): void {
  take(task, { kind: 'leave' });
}

function post(intent: Intent) {
  return unwrap(
    api.POST(ROUTES[intent.answer], {
      params: { path: { id: intent.task }, header: { 'Idempotency-Key': intent.key } },
      body: {
        revision: intent.revision,
        digest: intent.digest,
        ...(intent.reason ? { reason: intent.reason } : {}),
      },
    }),
  );
}

const pause = (length: number) => new Promise((resolve) => setTimeout(resolve, length));

/** Polls the server until it responds, to find out whether the vote was recorded. */
async function findOut(me: string, intent: Intent): Promise<Outcome> {
  for (;;) {
    const outcome = outcomeOf(intent.task);
    if (outcome.kind !== 'unclear') return outcome;
    await pause(lookIn(outcome.looks));
    try {
      const path = { id: intent.task };
      const { votes } = await unwrap(api.GET('/v1/tasks/{id}/approvals', { params: { path } }));
      const found = take(intent.task, { kind: 'looked', votes, me });
      if (found.kind === 'recorded') return await withReceipt(intent, found);
    } catch {
      take(intent.task, { kind: 'unanswered' });
    }
  }
}

/** The vote is recorded: the same idempotency key returns the stored response with the receipt. */
async function withReceipt(intent: Intent, found: Outcome): Promise<Outcome> {
  try {
    const { receipt } = await post(intent);
    const known = { ...found, receipt } as Outcome;
    outcomes.set(intent.task, known);
    for (const listener of listeners) listener();
    return known;
  } catch {
    return found;
  }
}

export async function decide(client: QueryClient, me: string, intent: Intent): Promise<Outcome> {
  const before = outcomeOf(intent.task);
  const begun = take(intent.task, { kind: 'send', intent });
  if (begun === before) return before;
  let outcome: Outcome;
  try {
    outcome = take(intent.task, { kind: 'answered', voted: await post(intent) });
  } catch (error) {
    outcome = take(intent.task, { kind: 'failed', error });
  }
  if (outcome.kind === 'unclear') outcome = await findOut(me, intent);
  void refetch(client, { queryKey: ['task', intent.task] });
  return outcome;
}

/** Returns the key of the first attempt if the server did not record it, otherwise a new key. */
export function keyFor(task: string, answer: Answer, revision: number): string {
  const outcome = outcomeOf(task);
  if (outcome.kind === 'absent') {
    const { intent } = outcome;
    if (intent.answer === answer && intent.revision === revision) return intent.key;
  }
  return crypto.randomUUID();
}
