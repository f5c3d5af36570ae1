// Locks as rows of a list: who holds one, and which of them to look at first. Pure.
import type { Lock } from './queries';
import type { Lease } from './tree';

export interface LockRow {
  readonly key: string;
  readonly lock: Lock;
  readonly first: Lease | undefined;
  readonly mode: string | undefined;
}

export function rowsOf(locks: readonly Lock[]): LockRow[] {
  return locks.map((lock) => {
    const [first] = lock.holders;
    const mode = first?.resources.find(({ resource }) => resource === lock.resource)?.mode;
    return { key: lock.resource, lock, first, mode };
  });
}

/** What most wait for first, then by name: the server gives them in an order of its own, which
 *  would have rows jump at every look. */
export function byWaits(one: LockRow, other: LockRow): number {
  return other.lock.waiting - one.lock.waiting || (one.key < other.key ? -1 : 1);
}
