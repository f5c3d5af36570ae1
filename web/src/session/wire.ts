import { api, type Schemas, unwrap } from '@/api/client';

export type Providers = Schemas['SignIn'];
export type OneSession = Schemas['SessionShown'];

export const readProviders = () => unwrap(api.GET('/v1/auth'));
export const readSession = () => unwrap(api.GET('/v1/session'));
export const readSessions = () => unwrap(api.GET('/v1/sessions'));
export const switchTenant = (tenant: string) =>
  api.POST('/v1/session/tenant', { body: { tenant_id: tenant } });
export const revokeSession = (id: string) =>
  unwrap(api.DELETE('/v1/sessions/{id}', { params: { path: { id } } }));
export const acceptInvitation = (invitation: string) =>
  api.POST('/v1/invitations/accept', { body: { invitation } });
export const signOut = () => api.POST('/auth/logout');

/**
 * URL that starts a sign-in with a provider and returns to a path of this page. With a tenant, the
 * person joins it.
 */
export function loginPath(provider: string, returnTo: string, tenant?: string): string {
  const query = new URLSearchParams({ provider, return_to: returnTo });
  if (tenant) query.set('tenant', tenant);
  return `/auth/login?${query}`;
}

/** The page of an invitation; the secret is in the fragment, which is not sent to the server. */
export const JOIN = '/join';

/** Path to which the server redirects after a failed sign-in. */
export const REFUSED = '/sign-in';

/** Explanations of a failed sign-in by the server's error code. */
const PROBLEMS = new Map(
  Object.entries({
    no_provider: 'This sign-in method is no longer available. Use another one.',
    not_begun:
      'The sign-in expired, was already completed, or was started in another browser. Try again.',
    refused: 'Your identity provider denied the sign-in. Contact its administrator.',
    not_believed:
      'The identity provider’s response could not be verified. Contact your ADE administrator.',
    no_tenant: 'You have no account here, or it is deactivated. Ask an admin for access.',
    not_joined: 'You are not a member of any tenant yet. Ask an admin for the link to join one.',
    provider_unavailable: 'Your identity provider did not respond. Try again in a minute.',
    unavailable: 'ADE could not reach its database. Try again in a minute.',
  }),
);

interface Place {
  pathname: string;
  search: string;
}

/** The tenant that a link to the sign-in page offers to join. */
export function tenantToJoin({ pathname, search }: Place): string | undefined {
  if (pathname !== REFUSED) return undefined;
  return new URLSearchParams(search).get('tenant') || undefined;
}

export function problemOf({ pathname, search }: Place) {
  if (pathname !== REFUSED || tenantToJoin({ pathname, search })) return undefined;
  const word = new URLSearchParams(search).get('problem') ?? '';
  return PROBLEMS.get(word) ?? 'Sign-in failed. Try again.';
}
