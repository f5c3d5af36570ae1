import { expect, it } from 'vitest';
import type { Lock } from './queries';
import { byWaits, rowsOf } from './rows';

const lock = (resource: string, waiting: number): Lock => ({
  resource,
  holding: 0,
  waiting,
  holders: [],
  queue: [],
});

it('puts what most wait for first, and keeps the rest by name', () => {
  const locks = [lock('b:1', 0), lock('c:1', 0), lock('a:1', 0), lock('d:1', 2), lock('e:1', 7)];
  for (const given of [locks, locks.toReversed()]) {
    const keys = rowsOf(given)
      .sort(byWaits)
      .map(({ key }) => key);
    expect(keys).toEqual(['e:1', 'd:1', 'a:1', 'b:1', 'c:1']);
  }
});
