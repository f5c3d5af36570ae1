import { QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { approvalsQuery, type Approval } from '@/api/queries';
import { NEEDS } from './data';
import { patched, Refresher } from './refresh';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const approval = (id: string, task: string, more: Partial<Approval> = {}): Approval => ({
  id,
  reviewer_id: 'usr_me',
  status: 'PENDING',
  revision: 1,
  requested_at: '',
  due_at: '',
  overdue: false,
  seats: [],
  urgency: 1,
  ...more,
  task: {
    id: task,
    number: 1,
    title: task,
    type: 't',
    state: 'REVIEWING',
    priority: 1,
    author_id: 'usr_b',
    risk: { score: 1, level: 'low' },
    digest: '',
  },
});
const data = (...pages: Approval[][]) => ({
  pages: pages.map((items) => ({ items })),
  pageParams: pages.map(() => undefined),
});
const asked = (task: string, ...approvals: Approval[]) => new Map([[task, approvals]]);
const ids = (found: ReturnType<typeof patched>) =>
  found.pages.flatMap(({ items }) => items.map(({ id }) => id));
const base = data([approval('a1', 't1')], [approval('a2', 't2'), approval('a3', 't3')]);

it('removes finished requests and keeps the others', () => {
  const answered = approval('a2', 't2', { status: 'APPROVED' });
  expect(ids(patched(base, 'usr_me', asked('t2', answered)))).toEqual(['a1', 'a3']);
});

it('adds new requests once', () => {
  const come = approval('a9', 't9');
  const others = approval('a8', 't9', { reviewer_id: 'usr_other' });
  const once = patched(base, 'usr_me', asked('t9', come, others));
  expect(ids(once)).toEqual(['a9', 'a1', 'a2', 'a3']);
  expect(ids(patched(once, 'usr_me', asked('t9', come)))).toEqual(['a9', 'a1', 'a2', 'a3']);
});

it('replaces a request with that of the new revision', () => {
  const next = approval('b2', 't2', { revision: 2 });
  const past = approval('a2', 't2', { status: 'SUPERSEDED' });
  expect(ids(patched(base, 'usr_me', asked('t2', past, next)))).toEqual(['b2', 'a1', 'a3']);
});

it('keeps pages without changed tasks identical', () => {
  const { pages } = patched(base, 'usr_me', asked('t3'));
  expect(pages[0]).toBe(base.pages[0]);
  expect(ids({ ...base, pages })).toEqual(['a1', 'a2']);
});

/** A reviewer's page that has loaded `base`, with responses for t2 that resolve one by one. */
function page() {
  const client = new QueryClient();
  client.setQueryData(NEEDS, base);
  const waiting: ((approvals: Approval[]) => void)[] = [];
  vi.spyOn(api, 'GET').mockImplementation(
    (() =>
      new Promise((done) => waiting.push((approvals) => done({ data: { approvals } })))) as never,
  );
  const shown = () => ids(client.getQueryData<typeof base>(NEEDS)!);
  return { client, waiting, shown, refresher: new Refresher(client, 'usr_me') };
}
const soon = () => vi.advanceTimersByTimeAsync(1_000);

it('reloads tasks that changed while the list was loading', async () => {
  const { client, waiting, shown, refresher } = page();
  refresher.touch(['t2']);
  await soon();
  let read: (data: typeof base) => void = () => {};
  const reading = client.fetchQuery({
    queryKey: NEEDS,
    queryFn: () => new Promise<typeof base>((done) => (read = done)),
    staleTime: 0,
  });
  waiting[0]!([]);
  await soon();
  expect(shown()).toEqual(['a1', 'a2', 'a3']);
  // A response from before the event.
  read(base);
  await reading;
  await soon();
  expect(waiting).toHaveLength(2);
  waiting[1]!([]);
  await soon();
  expect(shown()).toEqual(['a1', 'a3']);
});

it('discards prefetched data from before the event', async () => {
  const { client, waiting, shown, refresher } = page();
  void client.prefetchQuery(approvalsQuery('t2'));
  refresher.touch(['t2']);
  await soon();
  expect(waiting).toHaveLength(2);
  waiting[0]!([approval('a2', 't2')]);
  waiting[1]!([]);
  await soon();
  expect(shown()).toEqual(['a1', 'a3']);
});
