import { queryOptions } from '@tanstack/react-query';
import { readProviders, readSession, readSessions } from './wire';

export const providersQuery = () =>
  queryOptions({ queryKey: ['providers'], queryFn: readProviders, staleTime: 60_000 });

export const sessionQuery = () =>
  queryOptions({
    queryKey: ['session', 'mine'],
    queryFn: readSession,
    retry: false,
    staleTime: 5 * 60_000,
  });

export const sessionsQuery = () =>
  queryOptions({ queryKey: ['session', 'all'], queryFn: readSessions });
