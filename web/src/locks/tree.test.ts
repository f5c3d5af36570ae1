import { describe, expect, it } from 'vitest';
import { type Graph, held, type Lease, type Node, resourcesOf, roots, wanted } from './tree';

const lease = (owner: string, state: Lease['state'], resource: string, since = '1'): Lease => ({
  lease_hash: `${owner}-${resource}`,
  owner_hash: owner,
  state,
  fenced: true,
  priority: 0,
  since,
  expires_at: '2026-01-01T00:00:00Z',
  resources: [{ resource, mode: 'exclusive' }],
});
const graph = (
  edges: [string, string][],
  blockers: [string, number][],
  leases: Lease[] = [],
): Graph => ({
  edges: edges.map(([waiter, target]) => ({ waiter, waits_for: target })),
  root_blockers: blockers.map(([owner, blocked]) => ({ owner_hash: owner, blocked })),
  leases,
  has_more: false,
});
const shape = ({ owner, waiters }: Node): unknown =>
  waiters.length ? { [owner]: waiters.map(shape) } : owner;

describe('wait tree', () => {
  it('places each request below its blocker', () => {
    const found = roots(
      graph(
        [
          ['b', 'a'],
          ['c', 'b'],
          ['d', 'a'],
        ],
        [['a', 3]],
      ),
    );
    expect(found.map(shape)).toEqual([{ a: [{ b: ['c'] }, 'd'] }]);
    expect(found[0]?.blocked).toBe(3);
  });

  it('ends at a cycle', () => {
    const found = roots(
      graph(
        [
          ['b', 'a'],
          ['a', 'b'],
          ['c', 'b'],
        ],
        [['a', 2]],
      ),
    );
    expect(found.map(shape)).toEqual([{ a: [{ b: ['a', 'c'] }] }]);
    expect(found[0]?.waiters[0]?.waiters[0]?.isCircle).toBe(true);
  });

  it('places queued requests below the holder, not each other', () => {
    const found = roots(
      graph(
        [
          ['b', 'a'],
          ['c', 'b'],
          ['c', 'a'],
          ['d', 'c'],
          ['d', 'b'],
          ['d', 'a'],
        ],
        [['a', 3]],
      ),
    );
    expect(found.map(shape)).toEqual([{ a: ['b', 'c', 'd'] }]);
  });

  it('sorts the longest wait first', () => {
    const leases = [lease('b', 'WAITING', 'x:1', '9'), lease('c', 'WAITING', 'x:1', '2')];
    expect(
      roots(
        graph(
          [
            ['b', 'a'],
            ['c', 'a'],
          ],
          [['a', 2]],
          leases,
        ),
      ).map(shape),
    ).toEqual([{ a: ['c', 'b'] }]);
  });

  it('separates held from requested leases', () => {
    const leases = [lease('a', 'GRANTED', 'x:1'), lease('a', 'WAITING', 'y:1')];
    expect(resourcesOf(held(leases))).toEqual(['x:1']);
    expect(resourcesOf(wanted(leases))).toEqual(['y:1']);
  });
});
