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

it('sorts by waiting requests, then by name', () => {
  const locks = [lock('b:1', 0), lock('c:1', 0), lock('a:1', 0), lock('d:1', 2), lock('e:1', 7)];
  for (const given of [locks, locks.toReversed()]) {
    const keys = rowsOf(given)
      .sort(byWaits)
      .map(({ key }) => key);
    expect(keys).toEqual(['e:1', 'd:1', 'a:1', 'b:1', 'c:1']);
  }
});

it('shows the first holder with the mode in which it holds this lock', () => {
  const holder: Lock['holders'][number] = {
    lease_hash: 'sha256:1',
    owner_hash: 'sha256:2',
    state: 'GRANTED',
    fenced: true,
    priority: 0,
    since: '2026-01-01T00:00:00Z',
    expires_at: '2026-01-01T00:01:00Z',
    mode: 'shared',
  };
  const [held, free] = rowsOf([{ ...lock('a:1', 0), holders: [holder] }, lock('b:1', 1)]);
  expect(held?.first?.mode).toBe('shared');
  expect(free?.first).toBeUndefined();
});
