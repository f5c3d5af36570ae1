// What a list shows, whether it came as a request for approval or as a task.
import type { Approval, Level, State, TaskSummary } from '@/api/queries';

export interface Row {
  /** What makes it the same row later: the task, so that a new revision stays in its place. */
  readonly key: string;
  readonly approval: string | undefined;
  readonly task: string;
  readonly number: number;
  readonly title: string;
  readonly type: string;
  readonly level: Level;
  readonly score: number;
  readonly state: State;
  readonly revision: number;
  readonly author: string;
  readonly dueAt: string | undefined;
  readonly since: string;
  readonly isOverdue: boolean;
  /** For whom besides themselves the reviewer would answer. */
  readonly isForOthers: boolean;
  readonly place: number;
  readonly answer: Approval['status'] | undefined;
}

/** Made once for each, so that whoever asks gets the same object as long as nothing has changed. */
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
  const places = approval.places as { owner?: unknown; route?: unknown }[];
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
    revision: approval.revision,
    author: task.author,
    dueAt: approval.due_at,
    since: approval.requested_at,
    isOverdue: approval.overdue,
    isForOthers: places.length > 0 && places.every(({ route }) => route !== 'own'),
    place: approval.score,
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
    revision: task.revision,
    author: task.agent ?? task.author,
    dueAt: undefined,
    since: task.since,
    isOverdue: false,
    isForOthers: false,
    place: 0,
    answer: undefined,
  }),
);

/** The server's own order: overdue first, the longest over before the others, then by place. */
export function inOrder(one: Row, other: Row): number {
  if (one.isOverdue !== other.isOverdue) return one.isOverdue ? -1 : 1;
  if (one.isOverdue && one.dueAt !== other.dueAt)
    return (one.dueAt ?? '') < (other.dueAt ?? '') ? -1 : 1;
  if (one.place !== other.place) return other.place - one.place;
  return one.key < other.key ? -1 : one.key > other.key ? 1 : 0;
}

export interface Kept {
  /** What stays on screen, in its old order, with what is new about each. */
  readonly rows: Row[];
  /** What has come and is not on screen yet. */
  readonly fresh: Row[];
  /** What is on screen and waits for nobody any more. */
  readonly gone: ReadonlySet<string>;
}

/** Nothing moves under the cursor: rows keep their places until somebody asks for the new ones. */
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
