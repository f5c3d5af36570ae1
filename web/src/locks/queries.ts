import { queryOptions } from '@tanstack/react-query';
import { api, everyPage, type Schemas, taken } from '@/api/client';

export type Lock = Schemas['Lock'];

/** Only fenced locks are told of as they come and go; the others are seen by looking. */
export const LOOK_MS = 3_000;

/** More resources than these are not listed; the root blockers are what matters then. */
export const LOCKS_MAX = 10_000;

/** A list of many pages is looked at less often: reading it would be all that the page does. */
const LOOK_AT_MANY_MS = 15_000;
const MANY = 1_000;

export const graphQuery = () =>
  queryOptions({
    queryKey: ['locks', 'graph'],
    queryFn: () => taken(api.GET('/v1/locks/graph')),
    refetchInterval: LOOK_MS,
  });

export const locksQuery = () =>
  queryOptions({
    queryKey: ['locks', 'all'],
    queryFn: () =>
      everyPage((query) => taken(api.GET('/v1/locks', { params: { query } })), LOCKS_MAX),
    refetchInterval: ({ state }) =>
      (state.data?.items.length ?? 0) > MANY ? LOOK_AT_MANY_MS : LOOK_MS,
  });

export const deadlocksQuery = () =>
  queryOptions({
    queryKey: ['locks', 'deadlocks'],
    queryFn: () => taken(api.GET('/v1/locks/deadlocks')),
  });
