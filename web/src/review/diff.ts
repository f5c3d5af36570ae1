import { diffArrays, diffWordsWithSpace } from 'diff';

export interface Word {
  readonly text: string;
  readonly isChanged: boolean;
}

export interface Line {
  readonly kind: 'same' | 'add' | 'del';
  readonly text: string;
  readonly words?: readonly Word[];
  /** Line numbers on each side, from 1. */
  readonly old?: number;
  readonly new?: number;
}

export type Shown = Line | { readonly kind: 'fold'; readonly from: number; readonly count: number };

/** Lines shown per step; longer diffs are expanded on request. */
export const LINES_STEP = 400;

/** Longer lines are compared as a whole, not word by word. */
const WORDS_MAX = 2_000;

/** A minimal diff costs the square of its length, which would block the page: texts that differ in
 *  more lines than this are compared line by line. */
const EDITS_MAX = 300;
const WORD_EDITS_MAX = 100;

function paired(removed: string, added: string): [Word[], Word[]] | undefined {
  if (removed.length > WORDS_MAX || added.length > WORDS_MAX) return undefined;
  const parts = diffWordsWithSpace(removed, added, { maxEditLength: WORD_EDITS_MAX });
  if (!parts) return undefined;
  const side = (skip: 'added' | 'removed'): Word[] =>
    parts
      .filter((part) => !part[skip])
      .map((part) => ({ text: part.value, isChanged: Boolean(part.added || part.removed) }));
  const kept = parts.filter((part) => !part.added && !part.removed);
  const isAlike = kept.some(({ value }) => value.trim() !== '');
  return isAlike ? [side('added'), side('removed')] : undefined;
}

/** Marks changed words in replaced lines, up to a maximum number of lines. */
function replaced(removed: readonly string[], added: readonly string[], most: number): Line[] {
  const old: Line[] = [];
  const fresh: Line[] = [];
  removed.forEach((text, index) => {
    const other = index < most ? added[index] : undefined;
    const words = other === undefined ? undefined : paired(text, other);
    old.push({ kind: 'del', text, ...(words ? { words: words[0] } : {}) });
    if (words && other !== undefined) fresh[index] = { kind: 'add', text: other, words: words[1] };
  });
  added.forEach((text, index) => {
    fresh[index] ??= { kind: 'add', text };
  });
  return [...old, ...fresh];
}

interface Part {
  readonly value: string[];
  readonly removed: boolean;
  readonly added: boolean;
}

/** Compares lines at the same position: the result is correct but not minimal. */
function byPlace(before: readonly string[], after: readonly string[]): Part[] {
  const parts: Part[] = [];
  const isSame = (at: number) => before[at] === after[at];
  const most = Math.max(before.length, after.length);
  for (let from = 0, to = 0; from < most; from = to) {
    while (to < most && isSame(to) === isSame(from)) to++;
    const part = (lines: readonly string[], removed: boolean, added: boolean) => {
      const value = lines.slice(from, to);
      if (value.length > 0) parts.push({ value, removed, added });
    };
    if (isSame(from)) part(before, false, false);
    else {
      part(before, true, false);
      part(after, false, true);
    }
  }
  return parts;
}

export function diff(before: readonly string[], after: readonly string[]): Line[] {
  const lines: Line[] = [];
  // The rest is compared by lines only.
  let wanted = LINES_STEP;
  const parts =
    diffArrays([...before], [...after], { maxEditLength: EDITS_MAX }) ?? byPlace(before, after);
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!;
    const following = parts[index + 1];
    if (part.removed && following?.added) {
      lines.push(...replaced(part.value, following.value, wanted));
      wanted -= part.value.length;
      index++;
    } else {
      const kind = part.added ? 'add' : part.removed ? 'del' : 'same';
      lines.push(...part.value.map((text): Line => ({ kind, text })));
    }
  }
  return numbered(lines);
}

function numbered(lines: readonly Line[]): Line[] {
  let [old, fresh] = [0, 0];
  return lines.map((line) => {
    if (line.kind !== 'add') old += 1;
    if (line.kind !== 'del') fresh += 1;
    return {
      ...line,
      ...(line.kind !== 'add' ? { old } : {}),
      ...(line.kind !== 'del' ? { new: fresh } : {}),
    };
  });
}

/** Keeps a few lines of context around every change and folds the rest. */
export function folded(lines: readonly Line[], around = 3): Shown[] {
  const isKept = new Array<boolean>(lines.length).fill(false);
  lines.forEach((line, index) => {
    if (line.kind === 'same') return;
    const [from, to] = [Math.max(0, index - around), Math.min(lines.length - 1, index + around)];
    for (let each = from; each <= to; each++) isKept[each] = true;
  });
  const shown: Shown[] = [];
  for (let index = 0; index < lines.length; ) {
    let end = index;
    while (end < lines.length && !isKept[end]) end++;
    // A single line takes as much space as the fold that would hide it.
    if (end - index > 1) shown.push({ kind: 'fold', from: index, count: end - index });
    else if (end > index) shown.push(lines[index]!);
    if (end < lines.length) shown.push(lines[end]!);
    index = end + 1;
  }
  return shown;
}
