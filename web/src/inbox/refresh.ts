// After an event, only the rows it is about are asked for: an inbox of ten thousand is not read
// anew because one of them moved.
import type { QueryClient } from '@tanstack/react-query';
import { approvalsQuery, type Approval } from '@/api/queries';
import { type Asked, NEEDS } from './data';

/** The list with one task's requests to this reviewer as they are now. */
export function patched(data: Asked, me: string, task: string, latest: readonly Approval[]): Asked {
  const mine = latest.filter(({ reviewer, status }) => reviewer === me && status === 'PENDING');
  const open = new Map(mine.map((approval) => [approval.id, approval]));
  const pages = data.pages.map((page) => ({
    ...page,
    items: page.items.flatMap((approval) => {
      if (approval.task.id !== task) return [approval];
      const now = open.get(approval.id);
      open.delete(approval.id);
      return now ? [now] : [];
    }),
  }));
  const [first, ...others] = pages;
  if (open.size === 0 || !first) return { ...data, pages };
  return { ...data, pages: [{ ...first, items: [...open.values(), ...first.items] }, ...others] };
}

async function refreshOne(client: QueryClient, me: string, task: string): Promise<void> {
  const { approvals } = await client.fetchQuery({ ...approvalsQuery(task), staleTime: 0 });
  client.setQueryData<Asked>(NEEDS, (data) => data && patched(data, me, task, approvals));
}

export async function refreshAsked(
  client: QueryClient,
  me: string,
  tasks: ReadonlySet<string>,
): Promise<void> {
  const rounds = [...tasks].map((task) => refreshOne(client, me, task));
  const ends = await Promise.allSettled(rounds);
  const isShort = ends.some(({ status }) => status === 'rejected');
  if (isShort) await client.invalidateQueries({ queryKey: NEEDS });
  for (const key of ['approved', 'rejected']) {
    void client.invalidateQueries({ queryKey: ['inbox', key] });
  }
}
