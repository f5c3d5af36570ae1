import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';

const on = stage();

it('shows a token once, keeps it nowhere, and revokes it for good', async () => {
  const seat = await on.sit('sam', '/settings/tokens');
  const { page } = seat;
  await live(page);
  await page.getByLabel('What for').fill('laptop');
  await page.getByRole('button', { name: 'Make it' }).click();
  const token = await page.locator('[data-token]').innerText();
  const ask = () =>
    fetch(`${on.world.stack.url}/v1/me`, { headers: { Authorization: `Bearer ${token}` } });
  expect((await ask()).status).toBe(200);
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie);
  expect(stored).not.toContain(token);
  await page.reload();
  const row = page.locator('[data-key]', { hasText: 'laptop' });
  await row.waitFor();
  expect(await page.locator('[data-token]').count()).toBe(0);
  await row.getByRole('button', { name: 'Revoke' }).click();
  expect((await ask()).status, 'one press only asks').toBe(200);
  await row.getByRole('button', { name: 'Revoke for good?' }).click();
  await row.getByText('Revoked').waitFor();
  expect((await ask()).status).toBe(401);
  await expectCalm(seat);
  const reader = await on.sit('priya', '/settings/tokens');
  const make = reader.page.getByRole('button', { name: 'Make it' });
  expect(await make.getAttribute('title')).toBe('Only admins may do this.');
});

it('keeps how somebody wants to be told', async () => {
  const seat = await on.sit('priya', '/settings/notifications');
  const { page } = seat;
  await page.getByLabel('By mail').fill('approval.* task.expiring');
  await page.getByLabel('Quiet hours').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved').waitFor();
  await page.reload();
  expect(await page.getByLabel('By mail').inputValue()).toBe('approval.* task.expiring');
  expect(await page.getByLabel('From').inputValue()).toBe('22:00');
  await expectCalm(seat);
});

it('delegates for a while, and ends it', async () => {
  const seat = await on.sit('marc', '/settings/delegations');
  const { page } = seat;
  await page.getByLabel('To whom').selectOption({ label: 'Lena Koch' });
  await page.getByLabel('Only these types').fill('sql.*');
  await page.getByRole('button', { name: 'Delegate' }).click();
  const row = page.locator('[data-delegation]');
  await row.getByText('sql.*').waitFor();
  await page.locator('[data-calendar]').getByText('Lena Koch').waitFor();
  await page.locator('[data-acting]', { hasText: 'Marc Dubois → Lena Koch' }).waitFor();
  await row.getByRole('button', { name: 'End' }).click();
  await row.getByRole('button', { name: 'End it now?' }).click();
  await row.getByText('Over').or(page.getByText('Nobody; requests')).waitFor();
  await expectCalm(seat);
});

it('puts somebody on duty, of those who hold the role, and takes them off', async () => {
  const seat = await on.sit('sam', '/settings/on-call');
  const { page } = seat;
  await page.getByText('reaches all who hold it').waitFor();
  await page.getByLabel('For which role').selectOption('reviewer');
  const offered = await page.getByLabel('Who', { exact: true }).locator('option').allInnerTexts();
  expect(offered).toContain('Priya Nair');
  expect(offered, 'who does not hold it is not offered').not.toContain('Bob Okafor');
  await page.getByLabel('Who', { exact: true }).selectOption({ label: 'Priya Nair' });
  await page.getByLabel('For how long').selectOption('168');
  await page.getByRole('button', { name: 'Put on duty' }).click();
  const row = page.locator('[data-duty]');
  await row.getByText('on duty, ends in').waitFor();
  await page.locator('[data-calendar]').getByText('Priya Nair · reviewer').waitFor();
  await row.getByRole('button', { name: 'End' }).click();
  await row.getByRole('button', { name: 'End it now?' }).click();
  await page.getByText('reaches all who hold it').waitFor();
  await expectCalm(seat);
});

it('freezes some resources, tells everybody, and lifts it', async () => {
  const seat = await on.sit('sam', '/settings/freezes');
  const { page } = seat;
  await page.getByLabel('What', { exact: true }).selectOption('resources');
  await page.getByLabel('Which resources').fill('database:*');
  await page.getByLabel('Why').fill('INC-441');
  await page.getByRole('button', { name: 'Freeze', exact: true }).click();
  await page.getByText(/Applies on database:\* frozen since/).waitFor();
  const row = page.locator('[data-freeze]').first();
  await row.getByRole('button', { name: 'Lift' }).click();
  await row.getByRole('button', { name: 'Lift it now?' }).click();
  await row.getByText('Over').waitFor();
  await expectCalm(seat);
});

it('makes a webhook, tries it, gives it a new secret and deletes it', async () => {
  const seat = await on.sit('sam', '/settings/webhooks');
  const { page } = seat;
  // Over a slow line, what was changed is not on the page yet when the next button is pressed.
  await page.route(/\/v1\/webhooks(\?|$)/, async (route) => {
    if (route.request().method() === 'GET') await new Promise((done) => setTimeout(done, 300));
    await route.continue();
  });
  await page.getByLabel('Address', { exact: true }).fill('https://hooks.example.com/ade');
  await page.getByRole('button', { name: 'Make it' }).click();
  const first = await page.locator('[data-token]').innerText();
  const row = page.locator('[data-webhook]');
  await row.getByRole('button', { name: 'Try it' }).click();
  await row.locator('[data-delivery]', { hasText: 'webhook.ping' }).waitFor();
  await row.getByRole('button', { name: 'New secret' }).click();
  await row.getByRole('button', { name: 'The old one ends' }).click();
  await page.locator('[data-token]', { hasNotText: first }).waitFor();
  await row.getByRole('button', { name: 'Switch off' }).click();
  await row.getByRole('button', { name: 'Switch on' }).waitFor();
  await row.getByRole('button', { name: 'Delete' }).click();
  await row.getByRole('button', { name: 'Delete for good?' }).click();
  await page.getByText('Nobody is told.').waitFor();
  await expectCalm(seat);
});

it('sets roles, and shows in the words of the server what it refuses', async () => {
  const seat = await on.sit('sam', '/settings/people');
  const { page } = seat;
  const bob = page.locator('[data-user="Bob Okafor"]');
  await bob.getByRole('button', { name: 'Roles…' }).click();
  await page.getByLabel('Roles of Bob Okafor').fill('author reviewer');
  await page.getByRole('button', { name: 'Save roles' }).click();
  await bob.getByText('author, reviewer').waitFor();
  await expectCalm(seat);
  const reader = await on.sit('priya', '/settings/webhooks');
  const refusal = reader.page.locator('[data-refusal="not_allowed"]');
  await refusal.getByText('it is open to an admin').waitFor();
  await refusal.getByText(/req_/).waitFor();
});
