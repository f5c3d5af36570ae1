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

/** A part that takes longer comes later: nobody waits for it to see what would change. */
const TOGETHER_MS = 300;

/** Asks for all parts of a review at once, beside the task itself, and tells when they are there:
 *  a page that is drawn part by part moves under the reader's eyes. */
export function useParts(id: string): boolean {
  const [late, setLate] = useState<string>();
  const areHere = useQueries({
    queries: [
      riskQuery(id),
      explainQuery(id),
      approvalsQuery(id),
      statsQuery(id),
      auditQuery(id),
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
