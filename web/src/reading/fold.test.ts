import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chunks, FOLD_CHARACTERS, FOLD_LINES, headOf, shownOf } from './fold';

it('folds nothing within the limits, and says what it folds beyond them', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 300 }), { maxLength: 80 }), (lines) => {
      const head = headOf(lines);
      const isWhole = head.join('\n') === lines.join('\n');
      const all = lines.reduce((sum, line) => sum + line.length, 0);
      expect(isWhole).toBe(lines.length <= FOLD_LINES && all <= FOLD_CHARACTERS);
      expect(shownOf(head, lines) === undefined).toBe(isWhole);
    }),
  );
});

it('names the shown and the whole length', () => {
  const lines = ['x'.repeat(9_000)];
  expect(shownOf(headOf(lines), lines)).toBe('1 of 1 lines shown, 4,000 of 9,000 characters');
});

it('divides items without losing one', () => {
  expect(chunks([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(chunks([], 2)).toEqual([]);
});
