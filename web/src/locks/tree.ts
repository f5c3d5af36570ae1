// The wait graph as a tree whose roots are the root blockers. Pure.
import type { Schemas } from '@/api/client';

export type Graph = Schemas['LockGraph'];
export type Lease = Schemas['LeaseView'];
/** A lease without its resources. */
export type LeaseSummary = Schemas['LeaseSummary'];

export interface Node {
  readonly owner: string;
  /** Leases that the owner holds or waits for; one owner may have several. */
  readonly leases: readonly Lease[];
  readonly waiters: readonly Node[];
  /** The node is also its own ancestor: the requests form a cycle. */
  readonly isCircle: boolean;
}

export interface Root extends Node {
  readonly blocked: number;
}

/** Maximum displayed depth; deeper nodes are only counted at their root. */
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

/** A queued request waits for the holder and for all earlier requests. In the tree each node
 *  appears once, below the blocker that is nearest to a root, which is the holder. */
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

export const held = (leases: readonly Lease[]) => leases.filter(({ state }) => state === 'GRANTED');
export const wanted = (leases: readonly Lease[]) =>
  leases.filter(({ state }) => state === 'WAITING');

export function resourcesOf(leases: readonly Lease[]): string[] {
  return [...new Set(leases.flatMap((lease) => lease.resources.map(({ resource }) => resource)))];
}

/** A lease is renewed every ten seconds; if a renewal is overdue, the holder may be gone. */
export function isLate(lease: LeaseSummary, now: number): boolean {
  return Date.parse(lease.expires_at) < now;
}
