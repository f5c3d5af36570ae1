import { describe, expect, it } from 'vitest';
import type { Task } from '@/api/queries';
import type { Row } from '@/inbox/rows';
import { groupsOf, judged, type Ready, unfit } from './groups';

const task = (more: Partial<Task> = {}): Task =>
  ({
    type: 'service.restart',
    state: 'REVIEWING',
    revision: 1,
    digest: 'sha256:a',
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
  it('is grouped by effect, not by title', () => {
    const groups = groupsOf([
      ready('a', { title: 'one' }),
      ready('b', { title: 'two' }),
      ready('c', { type: 'sql.change' }),
    ]);
    expect(groups.map(({ items }) => items.length)).toEqual([2, 1]);
  });

  it('groups irreversible changes separately', () => {
    const counts = { adds: 0, changes: 1, removes: 0, irreversible: 1 };
    const effect = { ...task().effect, counts };
    expect(groupsOf([ready('a'), ready('b', { effect })])).toHaveLength(2);
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
