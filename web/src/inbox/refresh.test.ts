import { expect, it } from 'vitest';
import type { Approval } from '@/api/queries';
import { patched } from './refresh';

const approval = (id: string, task: string, more: Partial<Approval> = {}): Approval => ({
  id,
  reviewer: 'usr_me',
  status: 'PENDING',
  revision: 1,
  requested_at: '',
  due_at: '',
  overdue: false,
  places: [],
  score: 1,
  ...more,
  task: {
    id: task,
    number: 1,
    title: task,
    type: 't',
    state: 'REVIEWING',
    priority: 1,
    author: 'usr_b',
    risk: { score: 1, level: 'LOW' },
  },
});
const data = (...pages: Approval[][]) => ({
  pages: pages.map((items) => ({ items })),
  pageParams: pages.map(() => undefined),
});
const ids = (found: ReturnType<typeof patched>) =>
  found.pages.flatMap(({ items }) => items.map(({ id }) => id));
const base = data([approval('a1', 't1')], [approval('a2', 't2'), approval('a3', 't3')]);

it('takes out what waits no more and leaves the rest alone', () => {
  const answered = approval('a2', 't2', { status: 'APPROVED' });
  expect(ids(patched(base, 'usr_me', 't2', [answered]))).toEqual(['a1', 'a3']);
});

it('puts in what has come, once', () => {
  const come = approval('a9', 't9');
  const once = patched(base, 'usr_me', 't9', [
    come,
    approval('a8', 't9', { reviewer: 'usr_other' }),
  ]);
  expect(ids(once)).toEqual(['a9', 'a1', 'a2', 'a3']);
  expect(ids(patched(once, 'usr_me', 't9', [come]))).toEqual(['a9', 'a1', 'a2', 'a3']);
});

it('replaces a request by the one for the new revision', () => {
  const next = approval('b2', 't2', { revision: 2 });
  expect(
    ids(patched(base, 'usr_me', 't2', [approval('a2', 't2', { status: 'SUPERSEDED' }), next])),
  ).toEqual(['b2', 'a1', 'a3']);
});
