import { diffArrays, diffWordsWithSpace } from 'diff';

export interface Word {
  readonly text: string;
  readonly isChanged: boolean;
}

export interface Line {
  readonly kind: 'same' | 'add' | 'del';
  readonly text: string;
  readonly words?: readonly Word[];
  /** Numbers on each side, from 1. */
  readonly old?: number;
  readonly new?: number;
}

export type Shown = Line | { readonly kind: 'fold'; readonly from: number; readonly count: number };

/** Lines longer than this are compared as a whole. */
const WORDS_MAX = 2_000;

function paired(removed: string, added: string): [Word[], Word[]] | undefined {
  if (removed.length > WORDS_MAX || added.length > WORDS_MAX) return undefined;
  const parts = diffWordsWithSpace(removed, added);
  const side = (skip: 'added' | 'removed'): Word[] =>
    parts
      .filter((part) => !part[skip])
      .map((part) => ({ text: part.value, isChanged: Boolean(part.added || part.removed) }));
  const kept = parts.filter((part) => !part.added && !part.removed);
  const isAlike = kept.some(({ value }) => value.trim() !== '');
  return isAlike ? [side('added'), side('removed')] : undefined;
}

/** Words are marked where a line was replaced by another. */
function replaced(removed: readonly string[], added: readonly string[]): Line[] {
  const old: Line[] = [];
  const fresh: Line[] = [];
  removed.forEach((text, index) => {
    const other = added[index];
    const words = other === undefined ? undefined : paired(text, other);
    old.push({ kind: 'del', text, ...(words ? { words: words[0] } : {}) });
    if (words && other !== undefined) fresh[index] = { kind: 'add', text: other, words: words[1] };
  });
  added.forEach((text, index) => {
    fresh[index] ??= { kind: 'add', text };
  });
  return [...old, ...fresh];
}

export function diff(before: readonly string[], after: readonly string[]): Line[] {
  const lines: Line[] = [];
  const parts = diffArrays([...before], [...after]);
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!;
    const following = parts[index + 1];
    if (part.removed && following?.added) {
      lines.push(...replaced(part.value, following.value));
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

/** Keeps a few lines around every change and folds the rest. */
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
    // One line costs as much room as the fold that would hide it.
    if (end - index > 1) shown.push({ kind: 'fold', from: index, count: end - index });
    else if (end > index) shown.push(lines[index]!);
    if (end < lines.length) shown.push(lines[end]!);
    index = end + 1;
  }
  return shown;
}
