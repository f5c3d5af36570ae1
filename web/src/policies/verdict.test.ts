import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Replayed } from './queries';
import { gist, shares } from './verdict';

const replayed = (more: Partial<Replayed> = {}): Replayed => ({
  days: 30,
  examined: 8,
  is_cut: false,
  same: 8,
  stricter: 0,
  looser: 0,
  mixed: 0,
  without_a_person: 0,
  tasks: [],
  ...more,
});

describe('A replay', () => {
  it('says first what would pass without a person', () => {
    expect(gist(replayed({ looser: 3, without_a_person: 2 }))).toBe(
      '2 tasks would now pass without a person.',
    );
  });

  it('tells each direction apart', () => {
    expect(gist(replayed())).toBe('Nothing would change for 8 tasks.');
    expect(gist(replayed({ looser: 1 }))).toBe('1 task would need less than before.');
    expect(gist(replayed({ stricter: 2 }))).toBe('2 tasks would need more than before.');
    expect(gist(replayed({ stricter: 2, looser: 1 }))).toMatch(/^3 tasks .* differently/);
    expect(gist(replayed({ examined: 0, same: 0 }))).toMatch(/^Nothing was handed in/);
  });

  it('divides all that was looked at, and nothing else', () => {
    const count = fc.nat({ max: 1000 });
    fc.assert(
      fc.property(count, count, count, count, (same, stricter, looser, mixed) => {
        const examined = same + stricter + looser + mixed;
        const parts = shares(replayed({ examined, same, stricter, looser, mixed }));
        const sum = parts.reduce((all, { part }) => all + part, 0);
        expect(sum).toBeCloseTo(examined === 0 ? 0 : 1);
      }),
    );
  });
});
