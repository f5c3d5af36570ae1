import { expect, it } from 'vitest';
import { dawn, DAYS, daysFrom, spanOf } from './calendar';

const now = new Date(2026, 10, 16, 14, 30).getTime();
const at = (days: number) => new Date(dawn(now) + days * 86_400_000).toISOString();

it('clips a span at both ends', () => {
  expect(spanOf(at(7), at(14), now)).toEqual({ from: 0.25, to: 0.5 });
  expect(spanOf(at(-3), at(DAYS + 3), now)).toEqual({ from: 0, to: 1 });
});

it('hides past and distant spans', () => {
  expect(spanOf(at(-3), at(-1), now)).toBeUndefined();
  expect(spanOf(at(DAYS + 1), at(DAYS + 2), now)).toBeUndefined();
});

it('counts calendar days and marks weekends', () => {
  const days = daysFrom(now);
  expect(days).toHaveLength(DAYS);
  expect(new Set(days.map(({ key }) => key)).size).toBe(DAYS);
  expect(days[0]).toMatchObject({ number: 16, isRest: false });
  expect(days.slice(0, 7).filter(({ isRest }) => isRest)).toHaveLength(2);
});
