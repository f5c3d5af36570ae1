// After an event, only the rows it is about are asked for: an inbox of ten thousand is not read
// anew because one of them moved.
import type { QueryClient } from '@tanstack/react-query';
import { approvalsQuery, type Approval } from '@/api/queries';
import { Turn } from '@/live/turn';
import { type Asked, NEEDS } from './data';

/** More tasks than this at once, and the list is read anew instead of one by one. */
const TOUCH_MAX = 40;

/** By task, what is asked of anybody about it now. */
type Latest = ReadonlyMap<string, readonly Approval[]>;

/** The list with what is asked of this reviewer about some tasks as it is now. Pages without any of
 *  them stay the same objects: nobody has to look through them again. */
export function patched(data: Asked, me: string, latest: Latest): Asked {
  const open = new Map<string, Approval>();
  for (const approvals of latest.values())
    for (const approval of approvals)
      if (approval.reviewer === me && approval.status === 'PENDING')
        open.set(approval.id, approval);
  const pages = data.pages.map((page) => {
    if (!page.items.some(({ task }) => latest.has(task.id))) return page;
    const items = page.items.flatMap((approval) => {
      if (!latest.has(approval.task.id)) return [approval];
      const now = open.get(approval.id);
      open.delete(approval.id);
      return now ? [now] : [];
    });
    return { ...page, items };
  });
  const [first, ...others] = pages;
  if (open.size === 0 || !first) return { ...data, pages };
  return { ...data, pages: [{ ...first, items: [...open.values(), ...first.items] }, ...others] };
}

/** Keeps the inbox of one reviewer as it is on the server. */
export class Refresher {
  #waiting = new Set<string>();
  #turn = new Turn(() => this.#run());

  constructor(
    private readonly client: QueryClient,
    private readonly me: string,
  ) {}

  touch = (tasks: Iterable<string>): void => {
    for (const task of tasks) this.#waiting.add(task);
    this.#turn.ask();
  };

  async #run(): Promise<void> {
    if (this.#isReading()) {
      this.#turn.ask();
      return;
    }
    const tasks = [...this.#waiting];
    this.#waiting.clear();
    if (tasks.length > TOUCH_MAX) {
      await this.client.invalidateQueries({ queryKey: ['inbox'] });
      return;
    }
    const ends = await Promise.allSettled(tasks.map((task) => this.#approvalsOf(task)));
    if (this.#isReading()) {
      this.touch(tasks);
      return;
    }
    const read = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
    const latest = new Map(read);
    this.client.setQueryData<Asked>(NEEDS, (data) => data && patched(data, this.me, latest));
    if (latest.size < tasks.length) await this.client.invalidateQueries({ queryKey: NEEDS });
    for (const key of ['approved', 'rejected']) {
      void this.client.invalidateQueries({ queryKey: ['inbox', key] });
    }
  }

  /** What is read now is put together with the pages that were there when it was asked for: what
   *  is patched meanwhile would be lost. */
  #isReading = (): boolean => this.client.getQueryState(NEEDS)?.fetchStatus === 'fetching';

  async #approvalsOf(task: string): Promise<[string, readonly Approval[]]> {
    const query = approvalsQuery(task);
    // What was being read ahead may be from before the event.
    await this.client.cancelQueries({ queryKey: query.queryKey, type: 'inactive' });
    const { approvals } = await this.client.fetchQuery({ ...query, staleTime: 0 });
    return [task, approvals];
  }
}
