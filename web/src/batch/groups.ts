// Contents of a batch before it is sent, grouped by the shape that the server computed: a batch has
// one shape. Pure.
import type { Schemas } from '@/api/client';
import type { Task } from '@/api/queries';
import type { Row } from '@/inbox/rows';

export type Item = Schemas['BatchItem'];
export type Verdict = Schemas['BatchVerdict'];

export interface Ready {
  readonly row: Row;
  readonly task: Task;
}

export interface Left {
  readonly row: Row;
  readonly because: string;
}

export interface Group {
  readonly shape: string;
  readonly items: readonly Ready[];
}

/** Groups the items, largest group first. */
export function groupsOf(items: readonly Ready[]): Group[] {
  const groups = new Map<string, Ready[]>();
  for (const item of items) {
    const { shape } = item.task;
    groups.set(shape, [...(groups.get(shape) ?? []), item]);
  }
  const all = [...groups].map(([shape, members]) => ({ shape, items: members }));
  return all.sort((one, other) => other.items.length - one.items.length);
}

/** The items of one batch, the largest group, and the others with the reason why they wait. */
export function oneBatch(items: readonly Ready[]): { fit: readonly Ready[]; left: Left[] } {
  const [largest, ...others] = groupsOf(items);
  const because = 'makes another change: decide it on its own, or with others like it';
  const left = others.flatMap((group) => group.items.map(({ row }) => ({ row, because })));
  return { fit: largest?.items ?? [], left };
}

/** Reason why a batch never accepts this task, if any. `task` was loaded just now. */
export function unfit(row: Row, task: Task): string | undefined {
  if (task.risk.level === 'critical') return 'critical, review it separately';
  if (task.state !== 'REVIEWING') return 'already decided';
  if (task.revision !== row.revision) return 'has a new revision';
  return undefined;
}

export function itemOf({ row, task }: Ready): Item {
  return { approval_id: row.approval ?? '', revision: task.revision, digest: task.digest };
}

/** Splits items by the server's verdict: accepted ones, and refused ones with the reason. */
export function judged(
  items: readonly Ready[],
  verdicts: readonly Verdict[],
): { ready: Ready[]; left: Left[] } {
  const refusals = new Map(verdicts.map(({ approval_id: id, refusal }) => [id, refusal]));
  const ready: Ready[] = [];
  const left: Left[] = [];
  for (const item of items) {
    const refusal = refusals.get(item.row.approval ?? '');
    if (refusal) left.push({ row: item.row, because: refusal });
    else ready.push(item);
  }
  return { ready, left };
}
