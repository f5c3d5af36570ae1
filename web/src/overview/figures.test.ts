import { describe, expect, it } from 'vitest';
import type { Schemas } from '@/api/client';
import type { Agent, TaskSummary } from '@/api/queries';
import {
  agreed,
  applied,
  counted,
  inState,
  linesOf,
  needLook,
  oldest,
  passedByPolicy,
  ratesOf,
} from './figures';

const overview = (more: Partial<Schemas['Overview']> = {}): Schemas['Overview'] => ({
  as_of: '2026-11-14T14:02:00Z',
  open_tasks: [
    { state: 'REVIEWING', count: 8, is_more: false },
    { state: 'FAILED', count: 1, is_more: false },
    { state: 'UNKNOWN', count: 10_000, is_more: true },
  ],
  pending_approvals: { count: 3, is_more: false },
  overdue_approvals: { count: 0, is_more: false },
  after_reviews_owed: { count: 0, is_more: false },
  days: [
    { day: '2026-11-13', entered: { COMPLETED: 7, FAILED: 1, APPROVED: 4 }, actions: {} },
    {
      day: '2026-11-14',
      entered: { COMPLETED: 2, APPROVED: 4 },
      actions: { 'task.auto_approve': 2 },
    },
  ],
  rates: { 'task.created': 4, 'approval.voted': 8, 'lock.acquired': 4 },
  ...more,
});

describe('overview figures', () => {
  it('sums states and marks capped counts', () => {
    expect(counted(inState(overview(), 'REVIEWING'))).toBe('8');
    expect(counted(inState(overview(), 'FAILED', 'UNKNOWN'))).toBe('10,001+');
  });

  it('shows no percentage without data', () => {
    expect(applied(overview())).toBe('90 %');
    expect(passedByPolicy(overview())).toBe('25 %');
    expect(applied(overview({ days: [] }))).toBe('–');
    const actions = { 'task.approve': 6, 'task.reject': 1, 'task.request_changes': 1 };
    expect(agreed(overview({ days: [{ day: '2026-11-14', entered: {}, actions }] }))).toBe('75 %');
    expect(agreed(overview())).toBe('–');
  });

  it('has a value for every day in every line', () => {
    const lines = linesOf(overview());
    expect(lines.map(({ state }) => state)).not.toContain('REJECTED');
    expect(lines.every(({ values }) => values.length === 2)).toBe(true);
    expect(lines.find(({ state }) => state === 'COMPLETED')?.values).toEqual([7, 2]);
  });

  it('distinguishes lines without colour', () => {
    const entered = { SUBMITTED: 1, APPROVED: 1, REJECTED: 1, COMPLETED: 1, FAILED: 1 };
    const busy = overview({ days: [{ day: '2026-11-14', entered, actions: {} }] });
    const dashes = linesOf(busy).map(({ dash }) => dash.join());
    expect(new Set(dashes).size).toBe(dashes.length);
  });

  it('sorts rates by frequency', () => {
    expect(ratesOf(overview()).map(({ type, part }) => [type, part])).toEqual([
      ['approval.voted', 1],
      ['lock.acquired', 0.5],
      ['task.created', 0.5],
    ]);
    expect(ratesOf(overview({ rates: {} }))).toEqual([]);
  });

  it('finds the oldest tasks and unhealthy agents', () => {
    const task = (since: string) => ({ state_since: since }) as TaskSummary;
    const tasks = ['2026-11-14', '2026-11-12', '2026-11-13'].map(task);
    const found = oldest(tasks, 2).map(({ state_since: since }) => since);
    expect(found).toEqual(['2026-11-12', '2026-11-13']);
    const agent = (more: Partial<Agent>) => ({ status: 'active', ...more }) as Agent;
    const all = [
      agent({}),
      agent({ status: 'late', seen_at: 'x' }),
      agent({ status: 'offline' }),
      agent({ status: 'offline', seen_at: 'x', revoked_at: 'x' }),
      agent({ status: 'offline', seen_at: 'x' }),
    ];
    expect(needLook(all)).toEqual([all[1], all[4]]);
  });
});
