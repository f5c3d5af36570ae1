// Describes the effect in words and lines. The headline names the operation as the server observed
// it, or the type of the task; it never contains the author's description.
import type { Change, Effect, Revision, Task } from '@/api/queries';
import { spelled } from '@/ui/text';

/** The number of changes. Removals come first, because a reader must not miss them. */
export function countsOf(effect: Pick<Effect, 'counts'>): string {
  const { removes, changes, adds } = effect.counts;
  const parts = [
    [removes, 'removed'],
    [changes, 'changed'],
    [adds, 'added'],
  ] as const;
  const words = parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return words.length > 0 ? words.join(', ') : 'no changes';
}

export interface Operation {
  readonly text: string;
  /** Whether the text is the type of the task, because nothing was observed. */
  readonly isType: boolean;
  /** Changes beside the one that the text names. */
  readonly others: number;
}

/** The operation: the most severe observed change, else the type of the task. */
export function operationOf({ type, effect }: Pick<Task, 'type' | 'effect'>): Operation {
  if (effect.origin === 'declared' || effect.errors.length > 0)
    return { text: type, isType: true, others: 0 };
  const [worst] = gravest(effect.changes);
  if (!worst) return { text: 'Changes nothing', isType: false, others: 0 };
  const text = worst.summary.charAt(0).toUpperCase() + worst.summary.slice(1);
  return { text, isType: false, others: effect.changes.length - 1 };
}

/** The operation as plain text, for the title of the page. */
export function titleOf(task: Pick<Task, 'type' | 'effect' | 'resources'>): string {
  const { text, isType } = operationOf(task);
  return spelled(isType ? `Run ${text} on ${task.resources[0]?.resource ?? ''}` : text);
}

const WEIGHT = { remove: 0, change: 1, add: 2 } as const;
export const SIGN = { remove: '−', change: '~', add: '+' } as const;

const objectOf = ({ summary }: Change) => summary.split(' ').at(-1) ?? '';

/** Sorts by severity: irreversible changes first, and a table before its columns. */
export function gravest(changes: readonly Change[]): Change[] {
  const depth = (change: Change) => objectOf(change).split('.').length;
  return [...changes].sort((one, other) => {
    if (one.irreversible !== other.irreversible) return one.irreversible ? -1 : 1;
    if (one.action !== other.action) return WEIGHT[one.action] - WEIGHT[other.action];
    return depth(one) - depth(other);
  });
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, ordered(inner)]));
}

/** Formats a value as lines: text unchanged, everything else as JSON with sorted keys. */
export function linesOf(value: unknown): string[] {
  if (value === undefined) return [];
  const text = typeof value === 'string' ? value : JSON.stringify(ordered(value), undefined, 2);
  return text.replace(/\r\n/g, '\n').split('\n');
}

/** Like `linesOf`; a mere number of rows is written in words. */
export function valueLines(value: unknown): string[] {
  const rows = isRecord(value) && Object.keys(value).length === 1 ? value['rows'] : undefined;
  return typeof rows === 'number' ? [`${rows} rows`] : linesOf(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Names of numbers in `before` and `after` that say how much is lost. */
const MEASURES: Record<string, string> = {
  rows: 'rows',
  size_bytes: 'bytes',
  bytes: 'bytes',
  dependents: 'dependents',
};

/** The rows that a change touches. What is unknown is named, because the digest covers it. */
export function rowsOf({ rows }: Pick<Change, 'rows'>): string | undefined {
  if (!rows) return undefined;
  const count = rows.count?.toLocaleString('en') ?? 'an unknown number of';
  const share = rows.percent == null ? 'an unknown share' : `up to ${rows.percent} %`;
  return `${count} rows, ${share} of the table`;
}

/** Rows, size and dependents of a change, as far as the effect states them. */
export function factsOf({
  before,
  after,
  rows,
}: Pick<Change, 'before' | 'after' | 'rows'>): string[] {
  const touched = rowsOf({ rows });
  const fields = [before, after].filter(isRecord).flatMap((value) => Object.entries(value));
  const facts = fields.flatMap(([name, value]) => {
    const word = Object.hasOwn(MEASURES, name) ? MEASURES[name] : undefined;
    const count = Array.isArray(value) ? value.length : value;
    if (!word || typeof count !== 'number') return [];
    return [`${count.toLocaleString('en')} ${word}`];
  });
  return [...new Set(touched ? [touched, ...facts] : facts)];
}

/** Formats the parameters as lines, with one line per statement. */
export function programOf(parameters: unknown): string[] {
  if (parameters === null || typeof parameters !== 'object') return linesOf(parameters);
  return Object.entries(ordered(parameters) as Record<string, unknown>).flatMap(([key, value]) => {
    const name = nameOf(key);
    const lines = typeof value === 'string' ? statements(value) : linesOf(value);
    const [first, ...others] = lines;
    if (others.length === 0) return [`${name}: ${first ?? ''}`];
    return [`${name}:`, ...lines.map((line) => `  ${line}`)];
  });
}

/** The name of a parameter; one that could pass for something else is quoted. */
function nameOf(key: string): string {
  return /^[\w.-]+$/.test(key) ? key : JSON.stringify(key);
}

/** Only plain spaces are replaced by a line break: all others are shown by their code point. */
function statements(text: string): string[] {
  const lines = linesOf(text);
  if (lines.length > 1 || !text.includes(';')) return lines;
  return text.split(/(?<=;) +/).filter(Boolean);
}

/** Formats a whole revision as lines, for the diff between two revisions. */
export function contentOf(
  content: Pick<Revision | Task, 'effect' | 'parameters' | 'resources'>,
): string[] {
  const touched = content.resources.map(
    ({ resource, mode }) => `touches ${resource} (${mode ?? 'exclusive'})`,
  );
  const changes = content.effect.changes.flatMap((change) => [
    `${SIGN[change.action]} ${change.summary}${change.irreversible ? ' (irreversible)' : ''}`,
    ...valueLines(change.before).map((line) => `    before  ${line}`),
    ...valueLines(change.after).map((line) => `    after   ${line}`),
  ]);
  return [...touched, ...changes, ...programOf(content.parameters)];
}

export function shortDigest(digest: string): string {
  const hex = digest.replace(/^sha256:/, '');
  return `${hex.slice(0, 4)}…${hex.slice(-4)}`;
}
