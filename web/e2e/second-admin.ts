// A second admin who signs in, which ends the setup of the tenant.
import type { Seat, Stage } from './browser';

export const NORA = 'Nora Lind';

/** Invites Nora as an admin and accepts the invitation in a browser of her own. */
export async function nora(on: Stage): Promise<{ seat: Seat; id: string }> {
  const { call } = on.world.people.sam;
  const body = { name: NORA, roles: ['admin'] };
  const { id } = await call<{ id: string }>('POST', '/v1/users', body);
  const { url } = await call<{ url: string }>('POST', `/v1/users/${id}/invitations`);
  const { pathname, hash } = new URL(url);
  const seat = await on.sit('anonymous', pathname + hash);
  await seat.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await seat.page.waitForURL('**/settings/passkeys');
  return { seat, id };
}
