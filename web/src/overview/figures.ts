// The figures of the overview, from what the server has counted. Pure.
import type { Schemas } from '@/api/client';
import type { Agent, State, TaskSummary } from '@/api/queries';

type Overview = Schemas['Overview'];
type Count = Schemas['Count'];

/** Counts stop at a bound; beyond it the number is at least so many. */
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

/** `97 %`, or nothing to divide. */
function percent(part: number, all: number): string {
  return all === 0 ? '–' : `${Math.round((part / all) * 100)} %`;
}

/** Of the applies whose end is known, those that did what they should. */
export function applied(overview: Overview): string {
  const good = total(overview, 'entered', 'COMPLETED');
  return percent(good, good + total(overview, 'entered', 'FAILED'));
}

/** Of what was let through, the part that needed no person. */
export function passedByPolicy(overview: Overview): string {
  const alone = total(overview, 'actions', 'task.auto_approve');
  return percent(alone, total(overview, 'entered', 'APPROVED'));
}

/** Of the answers of people, those that were yes. */
export function agreed(overview: Overview): string {
  const yes = total(overview, 'actions', 'task.approve');
  const no = total(overview, 'actions', 'task.reject');
  return percent(yes, yes + no + total(overview, 'actions', 'task.request_changes'));
}

export interface Line {
  readonly state: State;
  readonly word: string;
  /** The name of a colour. */
  readonly colour: string;
  readonly dash: readonly number[];
  readonly values: readonly number[];
}

const LINES: readonly (readonly [State, string, string, readonly number[]])[] = [
  ['SUBMITTED', 'handed in', '--review-mark', []],
  ['APPROVED', 'approved', '--good-mark', [8, 4]],
  ['REJECTED', 'rejected', '--bad-mark', [2, 3]],
  ['COMPLETED', 'completed', '--busy-mark', [12, 3, 2, 3]],
  ['FAILED', 'failed', '--high-mark', [4, 4]],
];

/** What never happened is left out: a line along the bottom hides those that say something. */
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

/** The most frequent first, each as a part of the greatest. */
export function ratesOf(overview: Overview): { type: string; count: number; part: number }[] {
  const all = Object.entries(overview.rates ?? {}).sort(
    ([one, a], [other, b]) => b - a || (one < other ? -1 : 1),
  );
  const most = Math.max(1, all[0]?.[1] ?? 0);
  return all.map(([type, count]) => ({ type, count, part: count / most }));
}

/** Those that have waited longest; what came first is first. */
export function oldest(tasks: readonly TaskSummary[], max: number): TaskSummary[] {
  return [...tasks].sort((one, other) => (one.since < other.since ? -1 : 1)).slice(0, max);
}

/** Not where they should be, and nobody has sent them away. */
export function needLook(agents: readonly Agent[]): Agent[] {
  return agents.filter(({ status, revoked_at: gone, seen_at: seen }) => {
    return !gone && status !== 'active' && (status !== 'offline' || Boolean(seen));
  });
}
