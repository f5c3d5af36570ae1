import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BOX, draw, NODES_MAX } from './graph';
import type { Node } from './tree';

const node = (owner: string, ...waiters: Node[]): Node => ({
  owner,
  leases: [],
  waiters,
  isCircle: false,
});

it('places waiting requests left of their blockers', () => {
  const { boxes, lines } = draw(node('a', node('b', node('c')), node('d')));
  const at = (owner: string) => boxes.find((box) => box.node.owner === owner)!;
  expect(at('a').x).toBeGreaterThan(at('b').x);
  expect(at('b').x).toBeGreaterThan(at('c').x);
  expect(at('b').x).toBe(at('d').x);
  expect(lines).toHaveLength(3);
});

it('never overlaps two boxes', () => {
  // Each number selects the earlier node that becomes the parent of the next one.
  const tree = fc.array(fc.nat(), { maxLength: 40 }).map((parents) => {
    const below: number[][] = [[], ...parents.map(() => [])];
    parents.forEach((parent, index) => below[parent % (index + 1)]!.push(index + 1));
    const grow = (at: number): Node => node(String(at), ...below[at]!.map(grow));
    return grow(0);
  });
  fc.assert(
    fc.property(tree, (root) => {
      const { boxes, width, height } = draw(root);
      for (const one of boxes) {
        expect(one.x + BOX.width).toBeLessThanOrEqual(width);
        expect(one.y + BOX.height).toBeLessThanOrEqual(height);
        for (const other of boxes) {
          if (one === other || one.x !== other.x) continue;
          expect(Math.abs(one.y - other.y)).toBeGreaterThanOrEqual(BOX.height);
        }
      }
    }),
    { numRuns: 60 },
  );
});

it('stops at the limit and counts the remaining nodes', () => {
  const many = Array.from({ length: NODES_MAX + 20 }, (_, index) => node(String(index)));
  const { boxes, left } = draw(node('a', ...many));
  expect([boxes.length, left]).toEqual([NODES_MAX, 21]);
});
