// Withdraws a vote: from the receipt, the preview or the review page, until the apply starts.
import type { QueryClient } from '@tanstack/react-query';
import { toast } from 'sonner';
import { api, unwrap } from '@/api/client';
import { Refused } from '@/api/problem';
import { refetch } from '@/api/refetch';

/** Keys of requests whose outcome is unknown, so that a repetition is the same request. */
const open = new Map<string, string>();

export async function withdrawVote(
  client: QueryClient,
  task: string,
  approval: string,
): Promise<void> {
  const key = open.get(approval) ?? crypto.randomUUID();
  open.set(approval, key);
  try {
    await unwrap(
      api.POST('/v1/approvals/{id}/withdraw', {
        params: { path: { id: approval }, header: { 'Idempotency-Key': key } },
      }),
    );
    open.delete(approval);
    toast('Your vote is withdrawn');
  } catch (error) {
    if (error instanceof Refused) open.delete(approval);
    toast.error(
      error instanceof Refused ? error.problem.title : 'No response. The page updates in a moment.',
    );
  }
  await refetch(client, { queryKey: ['task', task] });
}
