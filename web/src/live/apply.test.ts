import { expect, it } from 'vitest';
import { roundOf } from './apply';
import type { Effect } from './reducer';

const event = (type: string, object: string, task?: string): Effect => ({
  do: 'touch',
  event: {
    id: `evt_${type}`,
    seq: 1,
    tenant_id: 'ten_1',
    type,
    object,
    at: '2026-11-14T12:00:00Z',
    data: task ? { task } : {},
  },
});

it('finds the tasks of an event and those with changed list rows', () => {
  const round = roundOf([
    event('task.submitted', 'task_1'),
    event('approval.voted', 'apr_2', 'task_2'),
    event('override.asked', 'ovr_3', 'task_3'),
    event('task.commented', 'task_4'),
    event('lock.acquired', 'lck_5', 'task_5'),
    event('agent.online', 'agt_6'),
  ]);
  expect([...round.tasks]).toEqual(['task_1', 'task_2', 'task_3', 'task_4', 'task_5']);
  expect([...round.moved]).toEqual(['task_1', 'task_2', 'task_3']);
  expect([...round.topics]).toEqual(['task', 'approval', 'override', 'lock', 'agent']);
  expect(round.isAll).toBe(false);
});

it('covers everything if one event does', () => {
  expect(roundOf([event('task.submitted', 'task_1'), { do: 'refetch' }]).isAll).toBe(true);
});
