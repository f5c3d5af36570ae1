// Describes the effect in words and lines. The headline contains only counts and resource names
// known to the server, never text by the author.
import type { Change, Effect, Revision, Task } from '@/api/queries';

export interface Part {
  readonly sign: '−' | '~' | '+';
  readonly count: number;
  readonly word: 'removes' | 'changes' | 'adds';
}

/** Removals come first, because a reader must not miss them. */
export function parts(effect: Pick<Effect, 'counts'>): Part[] {
  const { removes, changes, adds } = effect.counts;
  const all: Part[] = [
    { sign: '−', count: removes, word: 'removes' },
    { sign: '~', count: changes, word: 'changes' },
    { sign: '+', count: adds, word: 'adds' },
  ];
  return all.filter(({ count }) => count > 0);
}

export function headline(effect: Pick<Effect, 'counts'>): string {
  const words = parts(effect).map(({ word, count }) => `${word} ${count}`);
  const sentence = words.length > 0 ? words.join(', ') : 'changes nothing';
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
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
  if (value === undefined || value === null) return [];
  const text = typeof value === 'string' ? value : JSON.stringify(ordered(value), undefined, 2);
  return text.replace(/\r\n/g, '\n').split('\n');
}

/** Formats the parameters as lines, with one line per statement. */
export function programOf(parameters: unknown): string[] {
  if (parameters === null || typeof parameters !== 'object') return linesOf(parameters);
  return Object.entries(ordered(parameters) as Record<string, unknown>).flatMap(([key, value]) => {
    const lines = typeof value === 'string' ? statements(value) : linesOf(value);
    const [first, ...others] = lines;
    if (others.length === 0) return [`${key}: ${first ?? ''}`];
    return [`${key}:`, ...lines.map((line) => `  ${line}`)];
  });
}

function statements(text: string): string[] {
  const lines = linesOf(text);
  if (lines.length > 1 || !text.includes(';')) return lines;
  return text.split(/(?<=;)\s+/).filter(Boolean);
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
    ...linesOf(change.before).map((line) => `    before  ${line}`),
    ...linesOf(change.after).map((line) => `    after   ${line}`),
  ]);
  return [...touched, ...changes, ...programOf(content.parameters)];
}

export function shortDigest(digest: string): string {
  const hex = digest.replace(/^sha256:/, '');
  return `${hex.slice(0, 4)}…${hex.slice(-4)}`;
}
