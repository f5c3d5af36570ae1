// Locks as rows of a list: holder and sort order. Pure.
import type { Lock } from './queries';

export interface LockRow {
  readonly key: string;
  readonly lock: Lock;
  readonly first: Lock['holders'][number] | undefined;
}

export function rowsOf(locks: readonly Lock[]): LockRow[] {
  return locks.map((lock) => ({ key: lock.resource, lock, first: lock.holders[0] }));
}

/** Sorts by number of waiting requests, then by name: the server's order changes between polls and
 *  would make rows jump. */
export function byWaits(one: LockRow, other: LockRow): number {
  return other.lock.waiting - one.lock.waiting || (one.key < other.key ? -1 : 1);
}
