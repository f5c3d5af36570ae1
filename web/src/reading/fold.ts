// Folding of long content. Content is folded only beyond these limits, and says how much is shown.

export const FOLD_LINES = 40;
export const FOLD_CHARACTERS = 4_000;
/** Lines per part: few enough to fit on any screen. */
export const PART_LINES = 20;

/** The lines that are shown while the rest is folded; the last one may be cut. */
export function headOf(lines: readonly string[]): readonly string[] {
  const head: string[] = [];
  let room = FOLD_CHARACTERS;
  for (const line of lines.slice(0, FOLD_LINES)) {
    if (line.length > room) return room > 0 ? [...head, line.slice(0, room)] : head;
    head.push(line);
    room -= line.length;
  }
  return head;
}

const count = (lines: readonly string[]) => lines.reduce((sum, line) => sum + line.length, 0);

/** Says how much is shown; nothing if everything is. */
export function shownOf(head: readonly string[], lines: readonly string[]): string | undefined {
  const [some, all] = [count(head), count(lines)];
  if (some === all && head.length === lines.length) return undefined;
  const numbers = [head.length, lines.length, some, all].map((one) => one.toLocaleString('en'));
  return `${numbers[0]} of ${numbers[1]} lines shown, ${numbers[2]} of ${numbers[3]} characters`;
}

export function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  const found: Item[][] = [];
  for (let at = 0; at < items.length; at += size) found.push(items.slice(at, at + size));
  return found;
}
