import { api, type Schemas, taken } from '@/api/client';

export type Providers = Schemas['SignIn'];
export type OneSession = Schemas['SessionShown'];

export const readProviders = () => taken(api.GET('/v1/auth'));
export const readSession = () => taken(api.GET('/v1/session'));
export const readSessions = () => taken(api.GET('/v1/sessions'));
export const switchTenant = (tenant: string) =>
  api.POST('/v1/session/tenant', { body: { tenant } });
export const revokeSession = (id: string) =>
  taken(api.DELETE('/v1/sessions/{id}', { params: { path: { id } } }));
export const signOut = () => api.POST('/auth/logout');

/** Where a provider takes over, and where the reader comes back to: a path of this page. */
export function loginPath(provider: string, returnTo: string): string {
  const query = new URLSearchParams({ provider, return_to: returnTo });
  return `/auth/login?${query}`;
}

/** Where the server sends whom it did not let in. */
export const REFUSED = '/sign-in';

/** What went wrong there, by the server's word for it, and what to do. */
const PROBLEMS = new Map(
  Object.entries({
    no_provider: 'There is no such way to sign in any more. Take another one.',
    not_begun:
      'The answer came to another browser, twice, or after ten minutes. Please begin again.',
    refused: 'Your company said no. Ask whoever runs its sign-in.',
    not_believed:
      'What your company’s sign-in said could not be believed. Ask whoever runs ADE to check it.',
    no_tenant: 'You have no account here, or it is closed. Ask an admin to let you in.',
    provider_unavailable: 'Your company’s sign-in did not answer. Try again in a minute.',
    unavailable: 'ADE could not reach its own record. Try again in a minute.',
  }),
);

export function problemOf({ pathname, search }: { pathname: string; search: string }) {
  if (pathname !== REFUSED) return undefined;
  const word = new URLSearchParams(search).get('problem') ?? '';
  return PROBLEMS.get(word) ?? 'Signing in did not work. Please begin again.';
}
