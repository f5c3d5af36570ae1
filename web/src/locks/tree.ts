// Who waits for whom, as a tree: at its roots those at whom all waiting ends. Pure.
import type { Schemas } from '@/api/client';

export type Graph = Schemas['LockGraph'];
export type Lease = Schemas['LeaseView'];

export interface Node {
  readonly owner: string;
  /** What it holds and what it waits for; one owner may have several leases. */
  readonly leases: readonly Lease[];
  readonly waiters: readonly Node[];
  /** Stands above itself: whoever waits here is waited for. */
  readonly isCircle: boolean;
}

export interface Root extends Node {
  readonly blocked: number;
}

/** Deeper than this nobody reads; the rest is counted by its root. */
export const DEPTH_MAX = 12;

export function roots(graph: Graph): Root[] {
  const leases = new Map<string, Lease[]>();
  for (const lease of graph.leases) {
    leases.set(lease.owner_hash, [...(leases.get(lease.owner_hash) ?? []), lease]);
  }
  const waiters = new Map<string, string[]>();
  for (const { waiter, waits_for: target } of graph.edges) {
    waiters.set(target, [...(waiters.get(target) ?? []), waiter]);
  }
  const since = (owner: string) => leases.get(owner)?.[0]?.since ?? '';
  const parents = nearest(
    graph.root_blockers.map(({ owner_hash: owner }) => owner),
    waiters,
  );
  const grow = (owner: string, above: readonly string[]): Node => {
    const own = leases.get(owner) ?? [];
    const path = [...above, owner];
    const all = [...new Set(waiters.get(owner) ?? [])].sort((a, b) =>
      since(a) < since(b) ? -1 : 1,
    );
    const next = all.flatMap((one): Node[] => {
      if (path.includes(one)) {
        return [{ owner: one, leases: leases.get(one) ?? [], waiters: [], isCircle: true }];
      }
      return parents.get(one) === owner && path.length <= DEPTH_MAX ? [grow(one, path)] : [];
    });
    return { owner, leases: own, waiters: next, isCircle: false };
  };
  return graph.root_blockers.map(({ owner_hash: owner, blocked }) => ({
    ...grow(owner, []),
    blocked,
  }));
}

/** Whoever stands in line waits for the holder and for all before them. In the tree each hangs
 *  once, below the one that is nearest to a root: that is the holder. */
function nearest(
  from: readonly string[],
  waiters: ReadonlyMap<string, string[]>,
): Map<string, string> {
  const parents = new Map<string, string>();
  const known = new Set(from);
  const line = [...from];
  for (let owner = line.shift(); owner !== undefined; owner = line.shift()) {
    for (const waiter of waiters.get(owner) ?? []) {
      if (known.has(waiter)) continue;
      known.add(waiter);
      parents.set(waiter, owner);
      line.push(waiter);
    }
  }
  return parents;
}

export const held = (leases: readonly Lease[]) => leases.filter(({ state }) => state === 'granted');
export const wanted = (leases: readonly Lease[]) =>
  leases.filter(({ state }) => state === 'waiting');

export function resourcesOf(leases: readonly Lease[]): string[] {
  return [...new Set(leases.flatMap((lease) => lease.resources.map(({ resource }) => resource)))];
}

/** A lease is renewed every ten seconds; later than that, its holder may be gone. */
export function isLate(lease: Lease, now: number): boolean {
  return Date.parse(lease.expires_at) < now;
}
