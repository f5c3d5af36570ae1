import { queryOptions } from '@tanstack/react-query';
import { api, everyPage, type Schemas, unwrap } from '@/api/client';

export type Lock = Schemas['Lock'];

/** Only fenced locks emit events; advisory locks are found by polling. */
export const LOOK_MS = 3_000;

/** Maximum number of listed resources; beyond it, the root blockers matter more than the list. */
export const LOCKS_MAX = 10_000;

/** Long lists are polled less often, because each poll reads many pages. */
const LOOK_AT_MANY_MS = 15_000;
const MANY = 1_000;

export const graphQuery = () =>
  queryOptions({
    queryKey: ['locks', 'graph'],
    queryFn: () => unwrap(api.GET('/v1/locks/graph')),
    refetchInterval: LOOK_MS,
  });

export const locksQuery = () =>
  queryOptions({
    queryKey: ['locks', 'all'],
    queryFn: () =>
      everyPage((query) => unwrap(api.GET('/v1/locks', { params: { query } })), LOCKS_MAX),
    refetchInterval: ({ state }) =>
      (state.data?.items.length ?? 0) > MANY ? LOOK_AT_MANY_MS : LOOK_MS,
  });

export const deadlocksQuery = () =>
  queryOptions({
    queryKey: ['locks', 'deadlocks'],
    queryFn: () => unwrap(api.GET('/v1/locks/deadlocks')),
  });
