// Queries and their cache keys. Events name tasks; everything that belongs to a task is cached
// under `['task', id, …]`, so that one invalidation covers all of it.
import { queryOptions } from '@tanstack/react-query';
import { api, everyPage, type Schemas, unwrap } from './client';
import { Refused } from './problem';

export type Task = Schemas['Task'];
export type TaskSummary = Schemas['TaskSummary'];
export type Approval = Schemas['Approval'];
export type Vote = Schemas['Vote'];
export type Level = Schemas['Level'];
export type State = Schemas['State'];
export type Effect = Schemas['Effect'];
export type Change = Schemas['Change'];
export type Revision = Schemas['Revision'];
export type Freeze = Schemas['Freeze'];
export type InstallationFreeze = Schemas['InstallationFreeze'];
export type Agent = Schemas['Agent'];
export type User = Schemas['User'];

const of = (id: string) => ({ params: { path: { id } } });

export const meQuery = () =>
  queryOptions({
    queryKey: ['me'],
    queryFn: () => unwrap(api.GET('/v1/me')),
    staleTime: Infinity,
  });

export const taskQuery = (id: string) =>
  queryOptions({
    queryKey: ['task', id, 'whole'],
    queryFn: () => unwrap(api.GET('/v1/tasks/{id}', of(id))),
  });

export const riskQuery = (id: string) =>
  queryOptions({
    queryKey: ['task', id, 'risk'],
    queryFn: () => unwrap(api.GET('/v1/tasks/{id}/risk', of(id))),
  });

export const explainQuery = (id: string) =>
  queryOptions({
    queryKey: ['task', id, 'explain'],
    queryFn: () => unwrap(api.GET('/v1/tasks/{id}/explain', of(id))),
  });

export const approvalsQuery = (id: string) =>
  queryOptions({
    queryKey: ['task', id, 'approvals'],
    queryFn: () => unwrap(api.GET('/v1/tasks/{id}/approvals', of(id))),
  });

export const statsQuery = (id: string) =>
  queryOptions({
    queryKey: ['task', id, 'stats'],
    queryFn: () => unwrap(api.GET('/v1/stats/tasks/{id}', of(id))),
    staleTime: 30_000,
  });

export const auditQuery = (id: string) =>
  queryOptions({
    queryKey: ['task', id, 'audit'],
    queryFn: () =>
      unwrap(api.GET('/v1/audit', { params: { query: { object: id, page_size: 50 } } })),
  });

export const executionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['task', id, 'executions'],
    queryFn: () => unwrap(api.GET('/v1/tasks/{id}/executions', of(id))),
  });

/** A revision is immutable and therefore loaded once. */
export const revisionQuery = (id: string, revision: number) =>
  queryOptions({
    queryKey: ['revision', id, revision],
    queryFn: () =>
      unwrap(
        api.GET('/v1/tasks/{id}/revisions/{revision}', { params: { path: { id, revision } } }),
      ),
    staleTime: Infinity,
  });

/** Splits `type:id` at the first colon. */
export function resourcePath(resource: string): { type: string; id: string } {
  const at = resource.indexOf(':');
  return { type: resource.slice(0, at), id: resource.slice(at + 1) };
}

/** Holders and queue of a lock; null if the server has no lock on the resource. */
export const lockQuery = (resource: string) =>
  queryOptions({
    queryKey: ['locks', resource],
    queryFn: async () => {
      const path = resourcePath(resource);
      try {
        return await unwrap(api.GET('/v1/locks/{type}/{id}', { params: { path } }));
      } catch (error) {
        if (error instanceof Refused && error.is('not_found')) return null;
        throw error;
      }
    },
  });

/** Setting and lifting a freeze emit events; the end of its time limit is found by polling. */
const FREEZE_LOOK_MS = 30_000;

export const freezesQuery = () =>
  queryOptions({
    queryKey: ['freezes'],
    queryFn: async () => {
      const { items } = await unwrap(
        api.GET('/v1/freezes', { params: { query: { page_size: 200 } } }),
      );
      return items;
    },
    refetchInterval: FREEZE_LOOK_MS,
  });

/** An installation freeze emits no tenant event; it is found by polling. */
const STATUS_LOOK_MS = 15_000;

export const statusQuery = () =>
  queryOptions({
    queryKey: ['status'],
    queryFn: () => unwrap(api.GET('/v1/status')),
    staleTime: 0,
    refetchInterval: STATUS_LOOK_MS,
  });

export const reviewerQuery = () =>
  queryOptions({
    queryKey: ['tasks', 'reviewer'],
    queryFn: () => unwrap(api.GET('/v1/stats/reviewers/{id}', of('me'))),
    staleTime: 5_000,
  });

const allUsers = async () =>
  (await everyPage((query) => unwrap(api.GET('/v1/users', { params: { query } })))).items;

const allAgents = async () =>
  (await everyPage((query) => unwrap(api.GET('/v1/agents', { params: { query } })))).items;

/** Names of people and agents by id. */
export const namesQuery = () =>
  queryOptions({
    queryKey: ['names'],
    queryFn: async () => {
      const all = await Promise.all([allUsers(), allAgents()]);
      return new Map(all.flat().map(({ id, name }) => [id, name]));
    },
    staleTime: 5 * 60_000,
  });

export const usersQuery = () =>
  queryOptions({ queryKey: ['users'], queryFn: allUsers, staleTime: 60_000 });

export const agentsQuery = () => queryOptions({ queryKey: ['agents', 'all'], queryFn: allAgents });
