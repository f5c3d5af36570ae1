import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { namesQuery } from './queries';

/** Shortens an id to its prefix and its last characters, which distinguish it from others. */
function shortId(id: string): string {
  return id.length > 12 ? `${id.split('_')[0]}…${id.slice(-4)}` : id;
}

export function useNames(): (id: string) => string {
  const { data } = useQuery(namesQuery());
  return useCallback((id: string) => data?.get(id) ?? shortId(id), [data]);
}
