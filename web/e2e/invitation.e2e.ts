import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';

const on = stage();

it('invites a person, who signs in once and continues with a passkey', async () => {
  await on.world.people.admin.call('POST', '/v1/users', { name: 'Nia Local', roles: ['reviewer'] });
  const seat = await on.sit('sam', '/settings/people');
  const { page } = seat;
  await live(page);
  const invite = { name: 'Invite' };
  const known = page.locator('[data-user="Priya Nair"]');
  await known.waitFor();
  expect(await known.getByRole('button', invite).count(), 'has an identity provider').toBe(0);
  const row = page.locator('[data-user="Nia Local"]');
  await row.getByRole('button', invite).click();
  const link = new URL(await row.locator('[data-token]').innerText());
  expect(link.origin).toBe(on.world.home);
  expect(link.hash).toMatch(/^#ade_inv_/);
  await expectCalm(seat);

  const guest = await on.sit('anonymous', link.pathname + link.hash);
  const accept = { name: 'Sign in', exact: true };
  await guest.page.getByRole('button', accept).waitFor();
  expect(guest.page.url(), 'the secret leaves the address bar').toBe(`${on.world.home}/join`);
  await guest.page.getByRole('button', accept).click();
  await guest.page.waitForURL('**/settings/passkeys');
  await guest.page.getByText('Your passkeys').waitFor();
  await expectCalm(guest);

  const late = await on.sit('anonymous', link.pathname + link.hash);
  await late.page.getByRole('button', accept).click();
  await late.page.getByText('this invitation is not valid').waitFor();
});

it('says that a link without its secret is incomplete', async () => {
  const seat = await on.sit('anonymous', '/join');
  await seat.page.getByText('The link is incomplete.').waitFor();
  await expectCalm(seat);
});
