// What the server says about sessions, written by hand until its description has it.
import * as z from 'zod/mini';
import { patient } from '@/api/client';
import { Unclear } from '@/api/problem';

const Named = z.object({ id: z.string(), name: z.string() });

export const Providers = z.object({
  providers: z.array(z.object({ name: z.string(), title: z.string() })),
});

export const Session = z.object({
  id: z.string(),
  user: Named,
  tenant: Named,
  tenants: z.array(Named),
  created_at: z.string(),
  idle_expires_at: z.string(),
  expires_at: z.string(),
  stepped_up_at: z.nullable(z.string()),
});

export const Sessions = z.object({
  items: z.array(
    z.object({
      id: z.string(),
      current: z.boolean(),
      address: z.nullish(z.string()),
      user_agent: z.nullish(z.string()),
      created_at: z.string(),
      last_seen_at: z.string(),
      expires_at: z.string(),
    }),
  ),
});

export type Providers = z.infer<typeof Providers>;
export type Session = z.infer<typeof Session>;
export type OneSession = z.infer<typeof Sessions>['items'][number];

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const request = new Request(new URL(path, location.origin), {
    method,
    credentials: 'same-origin',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = await patient(request);
  const text = await answer.text();
  try {
    return text ? JSON.parse(text) : undefined;
  } catch (cause) {
    throw new Unclear('the answer cannot be read', { cause });
  }
}

function as<T extends z.ZodMiniType>(kind: T, value: unknown): z.infer<T> {
  const read = z.safeParse(kind, value);
  if (!read.success) throw new Unclear('the answer cannot be read', { cause: read.error });
  return read.data;
}

export const readProviders = async () => as(Providers, await call('GET', '/v1/auth'));
export const readSession = async () => as(Session, await call('GET', '/v1/session'));
export const readSessions = async () => as(Sessions, await call('GET', '/v1/sessions'));
export const switchTenant = (tenant: string) => call('POST', '/v1/session/tenant', { tenant });
export const revokeSession = (id: string) =>
  call('DELETE', `/v1/sessions/${encodeURIComponent(id)}`);
export const signOut = () => call('POST', '/auth/logout');

/** Where a provider takes over, and where the reader comes back to: a path of this page. */
export function loginPath(provider: string, returnTo: string): string {
  const query = new URLSearchParams({ provider, return_to: returnTo });
  return `/auth/login?${query}`;
}
