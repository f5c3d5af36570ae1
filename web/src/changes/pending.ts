// Pending changes: changes to the rules that wait for a second admin or, in a tenant with one
// admin, for their time. Pure.
import * as z from 'zod/mini';
import type { Schemas } from '@/api/client';
import { dayTime } from '@/time/clock';

export type PendingChange = Schemas['PendingChange'];

const Proposed = z.looseObject({
  id: z.string().check(z.startsWith('chg_')),
  proposed_at: z.string(),
  outcome: z.nullish(z.null()),
});

/** Whether the server answered a change with a pending change, so that it is not in force yet. */
export function isProposed(answer: unknown): answer is PendingChange {
  return z.safeParse(Proposed, answer).success;
}

/** Says what an open change waits for. */
export function waits({ takes_effect_at: at }: Pick<PendingChange, 'takes_effect_at'>): string {
  return at ? `takes effect ${dayTime(at)} unless someone objects` : 'waits for a second admin';
}

/** Returns the open changes of an object. Objects of different kinds can have the same name. */
export function openFor(
  changes: readonly PendingChange[],
  kinds: RegExp,
  object?: string,
): PendingChange[] {
  const isOf = (change: PendingChange) => object === undefined || change.object === object;
  return changes.filter((change) => kinds.test(change.kind) && isOf(change));
}
