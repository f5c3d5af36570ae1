import { queryOptions } from '@tanstack/react-query';
import { api, everyPage, type Schemas, unwrap } from '@/api/client';

export type Version = Schemas['PolicyVersionShown'];
export type Draft = Schemas['PolicyDraft'];
export type Replayed = Schemas['Replayed'];

export const policiesQuery = () =>
  queryOptions({
    queryKey: ['policies', 'all'],
    queryFn: async () =>
      (await everyPage((query) => unwrap(api.GET('/v1/policies', { params: { query } })))).items,
  });

export const draftsQuery = () =>
  queryOptions({
    queryKey: ['policies', 'drafts'],
    queryFn: async () =>
      (await everyPage((query) => unwrap(api.GET('/v1/policy-drafts', { params: { query } }))))
        .items,
  });

export const policyQuery = (id: string) =>
  queryOptions({
    queryKey: ['policies', id],
    queryFn: () => unwrap(api.GET('/v1/policies/{id}/versions', { params: { path: { id } } })),
  });
