import type { InvalidateQueryFilters, QueryClient } from '@tanstack/react-query';

/** Reads again what a change has affected. Invalidation lets a query that is loading for the first
 *  time go on, although the server may have answered it before the change, so that query is read
 *  once more when it has loaded. */
export async function refetch(client: QueryClient, changed: InvalidateQueryFilters): Promise<void> {
  const loading = client
    .getQueryCache()
    .findAll({ ...changed, fetchStatus: 'fetching' })
    .filter(({ state }) => state.data === undefined);
  await client.invalidateQueries(changed);
  if (loading.length === 0) return;
  await client.invalidateQueries({ predicate: (query) => loading.includes(query) });
}
