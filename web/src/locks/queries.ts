import { queryOptions } from '@tanstack/react-query';
import { api, type Schemas, taken } from '@/api/client';

export type Lock = Schemas['Lock'];

/** More resources than these are not listed; the root blockers are what matters then. */
export const LOCKS_MAX = 1_000;

export const graphQuery = () =>
  queryOptions({
    queryKey: ['locks', 'graph'],
    queryFn: () => taken(api.GET('/v1/locks/graph')),
  });

export const locksQuery = () =>
  queryOptions({
    queryKey: ['locks', 'all'],
    queryFn: async () => {
      const items: Lock[] = [];
      let token: string | undefined;
      do {
        const query = { page_size: 200, ...(token ? { page_token: token } : {}) };
        const page = await taken(api.GET('/v1/locks', { params: { query } }));
        items.push(...page.items);
        token = page.next_page_token ?? undefined;
      } while (token && items.length < LOCKS_MAX);
      return { items, isCut: token !== undefined };
    },
  });

export const deadlocksQuery = () =>
  queryOptions({
    queryKey: ['locks', 'deadlocks'],
    queryFn: () => taken(api.GET('/v1/locks/deadlocks')),
  });
