import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

const of = (id: string) => ({ params: { path: { id } } });

export const agentQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', id, 'whole'],
    queryFn: () => unwrap(api.GET('/v1/agents/{id}', of(id))),
  });

export const configQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', id, 'config'],
    queryFn: () => unwrap(api.GET('/v1/agents/{id}/config', of(id))),
  });

export const versionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', id, 'versions'],
    queryFn: () => unwrap(api.GET('/v1/agents/{id}/config/versions', of(id))),
  });

export const differenceQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: ['difference', id, version],
    queryFn: () =>
      unwrap(
        api.GET('/v1/agents/{id}/config/versions/{version}/diff', {
          params: { path: { id, version }, query: {} },
        }),
      ),
    staleTime: Infinity,
  });
