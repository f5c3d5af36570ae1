import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, everyPage, unwrap } from '@/api/client';

/** Older ones are in the audit log. */
export const CLOSED_SHOWN = 50;

export const openChangesQuery = () =>
  queryOptions({
    queryKey: ['changes', 'open'],
    queryFn: async () => {
      const { items } = await everyPage((query) =>
        unwrap(api.GET('/v1/pending-changes', { params: { query } })),
      );
      return items;
    },
  });

export const closedChangesQuery = () =>
  queryOptions({
    queryKey: ['changes', 'closed'],
    queryFn: () => {
      const query = { closed: true, page_size: CLOSED_SHOWN };
      return unwrap(api.GET('/v1/pending-changes', { params: { query } }));
    },
  });

/** Returns the number of open changes. */
export function useOpenCount(): number {
  return useQuery({ ...openChangesQuery(), select: ({ length }) => length }).data ?? 0;
}
