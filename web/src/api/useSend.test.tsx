import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, renderHook, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { toast } from 'sonner';
import { afterEach, expect, it, vi } from 'vitest';
import { useSend } from './useSend';

vi.mock('sonner', () => ({ toast: Object.assign(vi.fn(), { error: vi.fn() }) }));

afterEach(() => {
  cleanup();
  vi.clearAllMocks();
});

const proposed = { id: 'chg_1', kind: 'user.roles', proposed_at: '2026-11-14T14:02:00Z' };

/** Sends a change that is answered with `answer`. */
async function sent(answer: unknown) {
  const client = new QueryClient();
  const read = vi.spyOn(client, 'invalidateQueries');
  const heard = { onAccepted: vi.fn(), onDone: vi.fn() };
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const send = vi.fn(() => Promise.resolve(answer));
  const { result } = renderHook(() => useSend({ send, touches: 'users', ...heard }), { wrapper });
  act(() => result.current.go('input'));
  await waitFor(() => expect(read).toHaveBeenCalledWith({ queryKey: ['users'] }));
  return { ...heard, read };
}

it('reports a change that is in force to its caller', async () => {
  const { onAccepted, onDone } = await sent({ id: 'usr_1' });
  expect(onAccepted).toHaveBeenCalledOnce();
  expect(onDone).toHaveBeenCalledExactlyOnceWith({ id: 'usr_1' }, 'input');
  expect(toast).not.toHaveBeenCalled();
});

it('reports a change that waits as proposed, and not as done', async () => {
  const { onAccepted, onDone, read } = await sent(proposed);
  expect(onAccepted).toHaveBeenCalledOnce();
  expect(onDone).not.toHaveBeenCalled();
  expect(vi.mocked(toast).mock.calls[0]?.[0]).toBe('Proposed: waits for a second admin');
  expect(read).toHaveBeenCalledWith({ queryKey: ['changes'] });
  expect(read).toHaveBeenCalledWith({ queryKey: ['me'] });
});
