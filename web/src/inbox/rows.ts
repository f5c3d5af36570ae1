// Rows of a list, made from approval requests or from tasks.
import type { Approval, Level, State, TaskSummary } from '@/api/queries';
import type { SubState } from '@/ui/StateChip';

export interface Row {
  /** Identity of the row: the task, so that a new revision keeps its position. */
  readonly key: string;
  readonly approval: string | undefined;
  readonly task: string;
  readonly number: number;
  readonly title: string;
  readonly type: string;
  readonly level: Level;
  readonly score: number;
  readonly state: State;
  /** Whether a reviewer has returned the draft to its author. */
  readonly detail: SubState | null;
  readonly revision: number;
  readonly author: string;
  readonly dueAt: string | undefined;
  readonly since: string;
  readonly isOverdue: boolean;
  /** Whether the reviewer would vote only on behalf of others. */
  readonly isForOthers: boolean;
  readonly place: number;
  readonly answer: Approval['status'] | undefined;
}

/** Cached per source object, so that an unchanged source yields the same row object. */
export function once<From extends object, Made extends object>(
  make: (from: From) => Made,
): (from: From) => Made {
  const known = new WeakMap<From, Made>();
  return (from) => {
    const made = known.get(from) ?? make(from);
    known.set(from, made);
    return made;
  };
}

export const fromApproval = once((approval: Approval): Row => {
  const { task } = approval;
  const seats = approval.seats as { owner?: unknown; route?: unknown }[];
  return {
    key: task.id,
    approval: approval.id,
    task: task.id,
    number: task.number,
    title: task.title,
    type: task.type,
    level: task.risk.level,
    score: task.risk.score,
    state: task.state,
    detail: null,
    revision: approval.revision,
    author: task.author_id,
    dueAt: approval.due_at,
    since: approval.requested_at,
    isOverdue: approval.overdue,
    isForOthers: seats.length > 0 && seats.every(({ route }) => route !== 'own'),
    place: approval.urgency,
    answer: approval.status,
  };
});

export const fromTask = once(
  (task: TaskSummary): Row => ({
    key: task.id,
    approval: undefined,
    task: task.id,
    number: task.number,
    title: task.title,
    type: task.type,
    level: task.risk.level,
    score: task.risk.score,
    state: task.state,
    detail: task.sub_state ?? null,
    revision: task.revision,
    author: task.agent_id ?? task.author_id,
    dueAt: undefined,
    since: task.state_since,
    isOverdue: false,
    isForOthers: false,
    place: 0,
    answer: undefined,
  }),
);

/** The server's order: overdue first, longest overdue before others, then by rank. */
export function inOrder(one: Row, other: Row): number {
  if (one.isOverdue !== other.isOverdue) return one.isOverdue ? -1 : 1;
  if (one.isOverdue && one.dueAt !== other.dueAt)
    return (one.dueAt ?? '') < (other.dueAt ?? '') ? -1 : 1;
  if (one.place !== other.place) return other.place - one.place;
  return one.key < other.key ? -1 : one.key > other.key ? 1 : 0;
}

export interface Kept {
  /** Rows that stay on screen in their old order, with current content. */
  readonly rows: Row[];
  /** New rows that are not on screen yet. */
  readonly fresh: Row[];
  /** Rows on screen that are no longer pending. */
  readonly gone: ReadonlySet<string>;
}

/** Rows keep their positions under the cursor until the reader asks for the new ones. */
export function keep(shown: readonly Row[], latest: readonly Row[]): Kept {
  const now = new Map(latest.map((row) => [row.key, row]));
  const before = new Set(shown.map(({ key }) => key));
  const gone = new Set(shown.filter(({ key }) => !now.has(key)).map(({ key }) => key));
  return {
    rows: shown.map((row) => now.get(row.key) ?? row),
    fresh: latest.filter(({ key }) => !before.has(key)),
    gone,
  };
}
