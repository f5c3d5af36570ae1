import { describe, expect, it } from 'vitest';
import type { Task } from '@/api/queries';
import type { Row } from '@/inbox/rows';
import { groupsOf, judged, oneBatch, type Ready, unfit } from './groups';

const task = (more: Partial<Task> = {}): Task =>
  ({
    type: 'service.restart',
    state: 'REVIEWING',
    revision: 1,
    digest: 'sha256:a',
    shape: 'sha256:s',
    risk: { score: 10, level: 'low' },
    resources: [{ resource: 'worker:billing' }],
    effect: { counts: { adds: 0, changes: 1, removes: 0, irreversible: 0 }, origin: 'declared' },
    ...more,
  }) as Task;
const row = (approval: string) => ({ key: approval, approval, revision: 1 }) as Row;
const ready = (approval: string, more: Partial<Task> = {}): Ready => ({
  row: row(approval),
  task: task(more),
});

describe('a batch', () => {
  it('is grouped by the shape of the server, not by title or counts', () => {
    const groups = groupsOf([
      ready('a', { title: 'one', shape: 'sha256:x' }),
      ready('b', { title: 'one' }),
      ready('c', { title: 'two' }),
    ]);
    expect(groups.map(({ items }) => items.length)).toEqual([2, 1]);
  });

  it('holds one shape, and says why the others wait', () => {
    const items = [ready('a', { shape: 'sha256:x' }), ready('b'), ready('c')];
    const { fit, left } = oneBatch(items);
    expect(fit.map(({ row }) => row.key)).toEqual(['b', 'c']);
    expect(left).toEqual([{ row: row('a'), because: expect.stringMatching('another change') }]);
    expect(oneBatch([])).toEqual({ fit: [], left: [] });
  });

  it('excludes critical, finished and changed tasks', () => {
    expect(unfit(row('a'), task())).toBeUndefined();
    expect(unfit(row('a'), task({ risk: { score: 90, level: 'critical' } }))).toMatch('critical');
    expect(unfit(row('a'), task({ state: 'APPROVED' }))).toMatch('already decided');
    expect(unfit(row('a'), task({ revision: 2 }))).toMatch('new revision');
  });

  it('keeps accepted items and the reasons for the rest', () => {
    const { ready: good, left } = judged(
      [ready('a'), ready('b')],
      [
        { approval_id: 'a', task_id: 't', refusal: null },
        { approval_id: 'b', task_id: 't', refusal: 'not asked' },
      ],
    );
    expect(good.map((item) => item.row.key)).toEqual(['a']);
    expect(left).toEqual([{ row: row('b'), because: 'not asked' }]);
  });
});
