import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { taskQuery } from '@/api/queries';
import type { Row } from '@/inbox/rows';
import { itemOf, judged, type Left, oneBatch, type Ready, unfit } from './groups';

/** Number of tasks loaded in parallel. */
const ABREAST = 6;

export type Preflight =
  | { readonly kind: 'reading'; readonly done: number }
  | { readonly kind: 'judged'; readonly ready: readonly Ready[]; readonly left: readonly Left[] }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Loads the current state of every task and runs the batch as a dry run. Nothing is written. */
export function usePreflight(action: 'approve' | 'reject', rows: readonly Row[]): Preflight {
  const client = useQueryClient();
  const [state, setState] = useState<Preflight>({ kind: 'reading', done: 0 });
  const [asked] = useState(rows);
  useEffect(() => {
    let isOver = false;
    const say = (next: Preflight) => {
      if (!isOver) setState(next);
    };
    const run = async () => {
      const current: Ready[] = [];
      const left: Left[] = [];
      for (let from = 0; from < asked.length; from += ABREAST) {
        const some = asked.slice(from, from + ABREAST);
        const read = await Promise.all(
          some.map((row) => client.fetchQuery({ ...taskQuery(row.task), staleTime: 0 })),
        );
        some.forEach((row, index) => {
          const task = read[index]!;
          const because = unfit(row, task);
          if (because) left.push({ row, because });
          else current.push({ row, task });
        });
        say({ kind: 'reading', done: from + some.length });
      }
      const { fit, left: others } = oneBatch(current);
      left.push(...others);
      if (fit.length === 0) return say({ kind: 'judged', ready: [], left });
      const answer = await unwrap(
        api.POST('/v1/approvals/batch', {
          params: { query: { dry_run: true } },
          body: { action, items: fit.map(itemOf), ...(action === 'reject' ? { reason: '…' } : {}) },
        }),
      );
      const verdict = judged(fit, answer.items);
      say({ kind: 'judged', ready: verdict.ready, left: [...left, ...verdict.left] });
    };
    run().catch((error: unknown) => say({ kind: 'failed', error }));
    return () => {
      isOver = true;
    };
  }, [action, asked, client]);
  return state;
}
