import { queryOptions } from '@tanstack/react-query';
import { api, everyPage, type Schemas, taken } from '@/api/client';

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
    queryFn: () =>
      everyPage((query) => taken(api.GET('/v1/locks', { params: { query } })), LOCKS_MAX),
  });

export const deadlocksQuery = () =>
  queryOptions({
    queryKey: ['locks', 'deadlocks'],
    queryFn: () => taken(api.GET('/v1/locks/deadlocks')),
  });
