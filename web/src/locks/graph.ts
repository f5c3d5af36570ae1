// Layout of the graph of one component: holders on the right, each waiting request left of the one
// that blocks it. Pure; small enough to need no library.
import type { Node } from './tree';

export interface Placed {
  readonly node: Node;
  readonly x: number;
  readonly y: number;
}

export interface Drawing {
  readonly boxes: readonly Placed[];
  readonly lines: readonly { readonly from: Placed; readonly to: Placed }[];
  readonly width: number;
  readonly height: number;
  /** Number of nodes that are not drawn. */
  readonly left: number;
}

export const BOX = { width: 168, height: 44, across: 64, down: 12 } as const;
export const NODES_MAX = 300;

function depthOf(node: Node): number {
  return 1 + Math.max(0, ...node.waiters.map(depthOf));
}

function countOf(node: Node): number {
  return 1 + node.waiters.reduce((sum, next) => sum + countOf(next), 0);
}

/** Leaves get rows from top to bottom; a node with children is centred between them. */
export function draw(root: Node): Drawing {
  const depth = depthOf(root);
  const boxes: Placed[] = [];
  const lines: { from: Placed; to: Placed }[] = [];
  let rows = 0;
  const column = (level: number) => (depth - 1 - level) * (BOX.width + BOX.across);
  const place = (node: Node, level: number): Placed | undefined => {
    if (boxes.length >= NODES_MAX) return undefined;
    const at = boxes.length;
    boxes.push({ node, x: column(level), y: 0 });
    const below = node.waiters.flatMap((next) => place(next, level + 1) ?? []);
    const middle =
      below.length > 0 ? (below[0]!.y + below.at(-1)!.y) / 2 : rows++ * (BOX.height + BOX.down);
    const placed = { node, x: column(level), y: middle };
    boxes[at] = placed;
    for (const from of below) lines.push({ from, to: placed });
    return placed;
  };
  place(root, 0);
  return {
    boxes,
    lines,
    width: depth * BOX.width + (depth - 1) * BOX.across,
    height: Math.max(1, rows) * (BOX.height + BOX.down) - BOX.down,
    left: countOf(root) - boxes.length,
  };
}
