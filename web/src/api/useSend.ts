import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { toast } from 'sonner';
import { Unclear } from './problem';
import { told } from './told';

interface Options<In, Out> {
  /** Sends it; the key makes a second try count once. */
  readonly send: (input: In, key: string) => Promise<Out>;
  /** What the page has read under this name is read anew, however it ended. */
  readonly touches: string;
  readonly onDone?: (answer: Out, input: In) => void;
}

/** A change by a person: a refusal is told in the server's words, silence as silence. After
 *  silence the same change goes out under the same key. */
export function useSend<In, Out>({ send, touches, onDone }: Options<In, Out>) {
  const client = useQueryClient();
  const open = useRef<{ text: string; key: string }>(undefined);
  const change = useMutation({
    mutationFn: (input: In) => {
      const text = JSON.stringify(input) ?? '';
      if (open.current?.text !== text) open.current = { text, key: crypto.randomUUID() };
      return send(input, open.current.key);
    },
    onSuccess: (answer, input) => onDone?.(answer, input),
    onError: (error) => toast.error(told(error)),
    onSettled: (_answer, error) => {
      if (!(error instanceof Unclear)) open.current = undefined;
      return client.invalidateQueries({ queryKey: [touches] });
    },
  });
  const { isPending, mutate, error } = change;
  return {
    isPending,
    error,
    /** Why another one has to wait, for buttons that would otherwise do nothing. */
    bar: isPending ? 'The change before this one is still on its way.' : undefined,
    go: (input: In) => {
      if (!isPending) mutate(input);
    },
  };
}
