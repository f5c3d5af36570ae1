import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderHook } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { useTaskList } from './data';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const PAGES = 5;

it('reads all pages in a background tab', async () => {
  let asked = 0;
  vi.spyOn(api, 'GET').mockImplementation((() => {
    const next = ++asked < PAGES ? `${asked}` : undefined;
    return Promise.resolve({
      data: { items: [{ id: `task_${asked}`, risk: {} }], next_page_token: next },
    });
  }) as never);
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useTaskList(undefined), { wrapper });
  // Notifications wait for a timer in the background; responses do not.
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toBe(PAGES);
  expect(result.current.rows).toHaveLength(PAGES);
  expect(result.current.isFilling).toBe(false);
});
