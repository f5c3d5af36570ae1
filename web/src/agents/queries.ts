import { queryOptions } from '@tanstack/react-query';
import { api, type Schemas, taken } from '@/api/client';

export type Agent = Schemas['Agent'];
export type AgentStatus = Schemas['AgentStatus'];

const PAGE = 200;
const of = (id: string) => ({ params: { path: { id } } });

export const agentsQuery = () =>
  queryOptions({
    queryKey: ['agents', 'all'],
    queryFn: async () => {
      const found: Agent[] = [];
      let token: string | undefined;
      do {
        const query = { page_size: PAGE, ...(token ? { page_token: token } : {}) };
        const page = await taken(api.GET('/v1/agents', { params: { query } }));
        found.push(...page.items);
        token = page.next_page_token ?? undefined;
      } while (token);
      return found;
    },
  });

export const agentQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', id, 'whole'],
    queryFn: () => taken(api.GET('/v1/agents/{id}', of(id))),
  });

export const configQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', id, 'config'],
    queryFn: () => taken(api.GET('/v1/agents/{id}/config', of(id))),
  });

export const versionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', id, 'versions'],
    queryFn: () => taken(api.GET('/v1/agents/{id}/config/versions', of(id))),
  });

export const differenceQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: ['difference', id, version],
    queryFn: () =>
      taken(
        api.GET('/v1/agents/{id}/config/versions/{version}/diff', {
          params: { path: { id, version }, query: {} },
        }),
      ),
    staleTime: Infinity,
  });
