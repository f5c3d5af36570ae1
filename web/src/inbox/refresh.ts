// After an event, only the affected rows are loaded: an inbox of ten thousand rows is not reloaded
// because one of them changed.
import type { QueryClient } from '@tanstack/react-query';
import { approvalsQuery, type Approval } from '@/api/queries';
import { Coalescer } from '@/live/coalescer';
import { type Asked, NEEDS } from './data';

/** Above this number of changed tasks, the whole list is reloaded instead of single rows. */
const TOUCH_MAX = 40;

/** Current approval requests by task. */
type Latest = ReadonlyMap<string, readonly Approval[]>;

/** Returns the list with the current requests to this reviewer for some tasks. Pages without any of
 *  them stay the same objects, so that they are not processed again. */
export function patched(data: Asked, me: string, latest: Latest): Asked {
  const open = new Map<string, Approval>();
  for (const approvals of latest.values())
    for (const approval of approvals)
      if (approval.reviewer_id === me && approval.status === 'PENDING')
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

/** Keeps the inbox of one reviewer in sync with the server. */
export class Refresher {
  #waiting = new Set<string>();
  #coalescer = new Coalescer(() => this.#run());

  constructor(
    private readonly client: QueryClient,
    private readonly me: string,
  ) {}

  touch = (tasks: Iterable<string>): void => {
    for (const task of tasks) this.#waiting.add(task);
    this.#coalescer.ask();
  };

  async #run(): Promise<void> {
    if (this.#isReading()) {
      this.#coalescer.ask();
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

  /** A running load is merged with the pages that existed when it started; patches applied in the
   *  meantime would be lost. */
  #isReading = (): boolean => this.client.getQueryState(NEEDS)?.fetchStatus === 'fetching';

  async #approvalsOf(task: string): Promise<[string, readonly Approval[]]> {
    const query = approvalsQuery(task);
    // Prefetched data may be from before the event.
    await this.client.cancelQueries({ queryKey: query.queryKey, type: 'inactive' });
    const { approvals } = await this.client.fetchQuery({ ...query, staleTime: 0 });
    return [task, approvals];
  }
}
