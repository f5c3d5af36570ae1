import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Turn } from './turn';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('runs at once, and once more for all who asked meanwhile', async () => {
  const ends: (() => void)[] = [];
  const turn = new Turn(() => new Promise<void>((done) => void ends.push(done)));
  turn.ask();
  expect(ends).toHaveLength(1);
  turn.ask();
  turn.ask();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ends).toHaveLength(1);
  ends[0]!();
  // The pause is no time to forget in what somebody asked.
  await vi.advanceTimersByTimeAsync(1);
  turn.ask();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ends).toHaveLength(2);
  ends[1]!();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ends).toHaveLength(2);
  turn.ask();
  expect(ends).toHaveLength(3);
});

it('rests for longer after what took longer', async () => {
  let runs = 0;
  const turn = new Turn(() => {
    runs++;
    return new Promise((done) => setTimeout(done, 1_000));
  });
  turn.ask();
  turn.ask();
  await vi.advanceTimersByTimeAsync(2_900);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(runs).toBe(2);
});

it('says what broke, and runs again for who asked meanwhile', async () => {
  const said = vi.fn();
  vi.stubGlobal('reportError', said);
  const broken = new Error('planted');
  let runs = 0;
  const turn = new Turn(() => (++runs === 1 ? Promise.reject(broken) : Promise.resolve()));
  turn.ask();
  turn.ask();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs).toBe(2);
  expect(said).toHaveBeenCalledExactlyOnceWith(broken);
});
