import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { toast } from 'sonner';
import { isProposed, type PendingChange } from '@/changes/pending';
import { announce } from '@/changes/Proposed';
import { Unclear } from './problem';
import { refetch } from './refetch';
import { errorMessage } from './errorMessage';

interface Options<In, Out> {
  /** Sends the change; the idempotency key makes a retry safe. */
  readonly send: (input: In, key: string) => Promise<Out>;
  /** Cache key that is invalidated after the request, whatever its outcome. */
  readonly touches: string;
  /** Runs once the server has accepted the change, also if it waits for a second admin: a form then
   *  returns to the stored values. */
  readonly onAccepted?: () => void;
  /** Runs if the change is in force. */
  readonly onDone?: (answer: Exclude<Out, PendingChange>, input: In) => void;
}

/** Sends a change and reports errors. A server error keeps the server's message. If no response
 *  arrives, a retry of the same change uses the same idempotency key. A change that waits for a
 *  second admin is reported as proposed, and not as done. */
export function useSend<In, Out>({ send, touches, onAccepted, onDone }: Options<In, Out>) {
  const client = useQueryClient();
  const open = useRef<{ text: string; key: string }>(undefined);
  const change = useMutation({
    mutationFn: (input: In) => {
      const text = JSON.stringify(input) ?? '';
      if (open.current?.text !== text) open.current = { text, key: crypto.randomUUID() };
      return send(input, open.current.key);
    },
    onSuccess: (answer, input) => {
      onAccepted?.();
      if (!isProposed(answer)) return onDone?.(answer as Exclude<Out, PendingChange>, input);
      announce(answer);
      // The first proposal may have ended the setup of the tenant.
      void refetch(client, { queryKey: ['me'] });
      void refetch(client, { queryKey: ['changes'] });
    },
    onError: (error) => toast.error(errorMessage(error)),
    onSettled: (_answer, error) => {
      if (!(error instanceof Unclear)) open.current = undefined;
      return refetch(client, { queryKey: [touches] });
    },
  });
  const { isPending, mutate, error } = change;
  return {
    isPending,
    error,
    /** Reason why a second change has to wait, for buttons that would otherwise do nothing. */
    bar: isPending ? 'The previous change is still being saved.' : undefined,
    go: (input: In) => {
      if (!isPending) mutate(input);
    },
  };
}
