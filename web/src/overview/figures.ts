// Computes the figures of the overview from the server's counts. Pure.
import type { Schemas } from '@/api/client';
import type { Agent, State, TaskSummary } from '@/api/queries';

type Overview = Schemas['Overview'];
type Count = Schemas['Count'];

/** Formats a count; `+` marks a count that the server capped. */
export function counted({ count, is_more: isMore }: Count): string {
  return `${count.toLocaleString('en')}${isMore ? '+' : ''}`;
}

export function inState(overview: Overview, ...states: State[]): Count {
  const found = overview.open_tasks.filter(({ state }) => states.includes(state));
  return {
    count: found.reduce((sum, { count }) => sum + count, 0),
    is_more: found.some(({ is_more: isMore }) => isMore),
  };
}

const total = (overview: Overview, of: 'entered' | 'actions', name: string) =>
  overview.days.reduce((sum, day) => sum + (day[of][name] ?? 0), 0);

/** Formats a percentage such as `97 %`, or a dash if the total is zero. */
function percent(part: number, all: number): string {
  return all === 0 ? '–' : `${Math.round((part / all) * 100)} %`;
}

/** Share of finished applies that succeeded. */
export function applied(overview: Overview): string {
  const good = total(overview, 'entered', 'COMPLETED');
  return percent(good, good + total(overview, 'entered', 'FAILED'));
}

/** Share of approved tasks that a policy approved automatically. */
export function passedByPolicy(overview: Overview): string {
  const alone = total(overview, 'actions', 'task.auto_approve');
  return percent(alone, total(overview, 'entered', 'APPROVED'));
}

/** Share of votes that were approvals. */
export function agreed(overview: Overview): string {
  const yes = total(overview, 'actions', 'task.approve');
  const no = total(overview, 'actions', 'task.reject');
  return percent(yes, yes + no + total(overview, 'actions', 'task.request_changes'));
}

export interface Line {
  readonly state: State;
  readonly word: string;
  /** Name of the CSS variable with the colour. */
  readonly colour: string;
  readonly dash: readonly number[];
  readonly values: readonly number[];
}

const LINES: readonly (readonly [State, string, string, readonly number[]])[] = [
  ['SUBMITTED', 'submitted', '--review-mark', []],
  ['APPROVED', 'approved', '--good-mark', [8, 4]],
  ['REJECTED', 'rejected', '--bad-mark', [2, 3]],
  ['COMPLETED', 'completed', '--busy-mark', [12, 3, 2, 3]],
  ['FAILED', 'failed', '--high-mark', [4, 4]],
];

/** Leaves out states that never occurred, because a flat line at zero hides the others. */
export function linesOf(overview: Overview): Line[] {
  const all = LINES.map(([state, word, colour, dash]) => ({
    state,
    word,
    colour,
    dash,
    values: overview.days.map(({ entered }) => entered[state] ?? 0),
  }));
  return all.filter(({ state, values }) => state === 'SUBMITTED' || values.some(Boolean));
}

/** Sorts by frequency; each share is relative to the most frequent one. */
export function ratesOf(overview: Overview): { type: string; count: number; part: number }[] {
  const all = Object.entries(overview.rates ?? {}).sort(
    ([one, a], [other, b]) => b - a || (one < other ? -1 : 1),
  );
  const most = Math.max(1, all[0]?.[1] ?? 0);
  return all.map(([type, count]) => ({ type, count, part: count / most }));
}

/** Returns the tasks that have waited longest, oldest first. */
export function oldest(tasks: readonly TaskSummary[], max: number): TaskSummary[] {
  return [...tasks]
    .sort((one, other) => (one.state_since < other.state_since ? -1 : 1))
    .slice(0, max);
}

/** Returns agents that are late or offline although they were not drained or revoked. */
export function needLook(agents: readonly Agent[]): Agent[] {
  return agents.filter(({ status, revoked_at: gone, seen_at: seen }) => {
    return !gone && status !== 'active' && (status !== 'offline' || Boolean(seen));
  });
}
