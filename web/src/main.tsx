import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import 'sonner/dist/styles.css';
import { Refused } from './api/problem';
import { router } from './router';
import './styles.css';

/** An error response is final; a missing response is retried twice. */
const retry = (count: number, error: unknown) => !(error instanceof Refused) && count < 2;

const client = new QueryClient({
  defaultOptions: { queries: { retry, staleTime: 10_000, refetchOnWindowFocus: false } },
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
