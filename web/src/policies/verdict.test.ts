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

describe('policy replay', () => {
  it('reports auto-approved tasks first', () => {
    expect(gist(replayed({ looser: 3, without_a_person: 2 }))).toBe(
      '2 tasks would now be approved automatically.',
    );
  });

  it('distinguishes stricter from looser', () => {
    expect(gist(replayed())).toBe('No change for 8 tasks.');
    expect(gist(replayed({ looser: 1 }))).toBe('1 task would be reviewed less strictly.');
    expect(gist(replayed({ stricter: 2 }))).toBe('2 tasks would be reviewed more strictly.');
    expect(gist(replayed({ stricter: 2, looser: 1 }))).toMatch(/^3 tasks .* differently/);
    expect(gist(replayed({ examined: 0, same: 0 }))).toMatch(/^No tasks were submitted/);
  });

  it('divides only evaluated tasks into shares', () => {
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
