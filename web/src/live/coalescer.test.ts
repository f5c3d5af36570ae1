import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Coalescer } from './coalescer';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('runs at once, and once more for all requests during a run', async () => {
  const ends: (() => void)[] = [];
  const coalescer = new Coalescer(() => new Promise<void>((done) => void ends.push(done)));
  coalescer.ask();
  expect(ends).toHaveLength(1);
  coalescer.ask();
  coalescer.ask();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ends).toHaveLength(1);
  ends[0]!();
  // Requests during the pause are not forgotten.
  await vi.advanceTimersByTimeAsync(1);
  coalescer.ask();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ends).toHaveLength(2);
  ends[1]!();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ends).toHaveLength(2);
  coalescer.ask();
  expect(ends).toHaveLength(3);
});

it('pauses longer after longer runs', async () => {
  let runs = 0;
  const coalescer = new Coalescer(() => {
    runs++;
    return new Promise((done) => setTimeout(done, 1_000));
  });
  coalescer.ask();
  coalescer.ask();
  await vi.advanceTimersByTimeAsync(2_900);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(runs).toBe(2);
});

it('reports an error and runs again for requests during the run', async () => {
  const said = vi.fn();
  vi.stubGlobal('reportError', said);
  const broken = new Error('planted');
  let runs = 0;
  const coalescer = new Coalescer(() =>
    ++runs === 1 ? Promise.reject(broken) : Promise.resolve(),
  );
  coalescer.ask();
  coalescer.ask();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs).toBe(2);
  expect(said).toHaveBeenCalledExactlyOnceWith(broken);
});
