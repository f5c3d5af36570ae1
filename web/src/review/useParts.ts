import { useQueries } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import {
  approvalsQuery,
  auditQuery,
  explainQuery,
  namesQuery,
  riskQuery,
  statsQuery,
} from '@/api/queries';
import { mayRead } from '@/session/access';
import { useMe } from '@/session/session';

/** Maximum wait for all parts; a slower part is rendered later. */
const TOGETHER_MS = 300;

/** Loads all parts of a review in parallel with the task and reports when they are ready, because a
 *  page that renders part by part moves while it is read. */
export function useParts(id: string): boolean {
  const [late, setLate] = useState<string>();
  // Authors and reviewers may read it too, but who they are is known only later.
  const isReader = mayRead(useMe(), 'audit');
  const areHere = useQueries({
    queries: [
      riskQuery(id),
      explainQuery(id),
      approvalsQuery(id),
      statsQuery(id),
      ...(isReader ? [auditQuery(id)] : []),
      namesQuery(),
    ],
    combine: (parts) => parts.every((part) => !part.isPending),
  });
  useEffect(() => {
    const timer = setTimeout(() => setLate(id), TOGETHER_MS);
    return () => clearTimeout(timer);
  }, [id]);
  return areHere || late === id;
}
