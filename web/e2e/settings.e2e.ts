import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';

const on = stage();

it('shows a new token once and revokes it', async () => {
  const seat = await on.sit('sam', '/settings/tokens');
  const { page } = seat;
  await live(page);
  await page.getByLabel('Description').fill('laptop');
  await page.getByRole('button', { name: 'Create token' }).click();
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
  expect((await ask()).status, 'the first press only asks').toBe(200);
  await row.getByRole('button', { name: 'Confirm: revoke token' }).click();
  await row.getByText('Revoked').waitFor();
  expect((await ask()).status).toBe(401);
  await expectCalm(seat);
});

it('lets a reviewer create a token of their own', async () => {
  const seat = await on.sit('priya', '/settings/tokens');
  const { page } = seat;
  await live(page);
  await page.getByLabel('Approve and reject tasks').check();
  await page.getByRole('button', { name: 'Create token' }).click();
  const token = await page.locator('[data-token]').innerText();
  const headers = { Authorization: `Bearer ${token}` };
  const me = await fetch(`${on.world.stack.url}/v1/me`, { headers });
  expect(((await me.json()) as { scopes: string[] }).scopes).toContain('decide');
  await expectCalm(seat);
});

it('offers no authority in a token for another person', async () => {
  const seat = await on.sit('sam', '/settings/tokens');
  const { page } = seat;
  await live(page);
  await page.getByLabel('Owner').selectOption({ label: 'Priya Nair' });
  await page.getByLabel('Propose tasks').waitFor();
  expect(await page.getByLabel('Approve and reject tasks').count()).toBe(0);
  expect(await page.getByLabel('Administer').count()).toBe(0);
  await expectCalm(seat);
});

it('saves notification settings', async () => {
  const seat = await on.sit('priya', '/settings/notifications');
  const { page } = seat;
  await page.getByRole('heading', { name: 'Recent notifications' }).waitFor();
  await page.getByLabel('Email').fill('approval.* task.expiring');
  await page.getByLabel('Quiet hours').check();
  await page.getByRole('button', { name: 'Save settings' }).click();
  await page.getByText('Saved').waitFor();
  await page.reload();
  expect(await page.getByLabel('Email').inputValue()).toBe('approval.* task.expiring');
  expect(await page.getByLabel('From').inputValue()).toBe('22:00');
  await expectCalm(seat);
});

it('creates and ends a delegation', async () => {
  const seat = await on.sit('marc', '/settings/delegations');
  const { page } = seat;
  await page.getByLabel('Delegate to').selectOption({ label: 'Lena Koch' });
  await page.getByLabel('Only these task types').fill('sql.*');
  await page.getByRole('button', { name: 'Create delegation' }).click();
  const row = page.locator('[data-delegation]');
  await row.getByText('sql.*').waitFor();
  await page.locator('[data-calendar]').getByText('Lena Koch').waitFor();
  await page.locator('[data-acting]', { hasText: 'Marc Dubois → Lena Koch' }).waitFor();
  await row.getByRole('button', { name: 'End delegation' }).click();
  await row.getByRole('button', { name: 'Confirm: end delegation' }).click();
  await row.getByText('Ended').or(page.getByText('No delegations.')).waitFor();
  await expectCalm(seat);
});

it('adds and ends an on-call shift for a holder of the role', async () => {
  const seat = await on.sit('sam', '/settings/on-call');
  const { page } = seat;
  await page.getByText('go to everyone who has it').waitFor();
  await page.getByLabel('Role', { exact: true }).selectOption('reviewer');
  const offered = await page
    .getByLabel('Person', { exact: true })
    .locator('option')
    .allInnerTexts();
  expect(offered).toContain('Priya Nair');
  expect(offered, 'people without the role are not offered').not.toContain('Bob Okafor');
  await page.getByLabel('Person', { exact: true }).selectOption({ label: 'Priya Nair' });
  await page.getByLabel('Duration').selectOption('168');
  await page.getByRole('button', { name: 'Add shift' }).click();
  const row = page.locator('[data-duty]');
  await row.getByText('on call, ends in').waitFor();
  await page.locator('[data-calendar]').getByText('Priya Nair · reviewer').waitFor();
  await row.getByRole('button', { name: 'End shift' }).click();
  await row.getByRole('button', { name: 'Confirm: end shift' }).click();
  await page.getByText('go to everyone who has it').waitFor();
  await expectCalm(seat);
});

it('freezes resources, shows the banner, and lifts the freeze', async () => {
  const seat = await on.sit('sam', '/settings/freezes');
  const { page } = seat;
  await page.getByLabel('Scope', { exact: true }).selectOption('resources');
  await page.getByLabel('Resources').fill('database:*');
  await page.getByLabel('Reason').fill('INC-441');
  await page.getByRole('button', { name: 'Add freeze', exact: true }).click();
  await page.getByText(/Applies on database:\* frozen since/).waitFor();
  const row = page.locator('[data-freeze]').first();
  await row.getByRole('button', { name: 'Unfreeze…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('No approved task is waiting.').waitFor();
  const lift = dialog.getByRole('button', { name: 'Unfreeze', exact: true });
  expect(await lift.getAttribute('aria-disabled'), 'a reason is needed').toBe('true');
  await dialog.getByLabel('Why can applies start again?').fill('INC-441 is resolved');
  await lift.click();
  await row.getByText('Ended').waitFor();
  await expectCalm(seat);
});

it('adds, tests, rotates, disables and deletes a webhook', async () => {
  const seat = await on.sit('sam', '/settings/webhooks');
  const { page } = seat;
  const added = page.waitForResponse((response) => response.request().method() === 'POST');
  const { promise: read, resolve: onRead } = Promise.withResolvers<void>();
  let count = 0;
  await page.route(/\/v1\/webhooks(\?|$)/, async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    count += 1;
    if (count === 1) {
      // The first list is from before the webhook was added, and arrives after it.
      const response = await route.fetch();
      onRead();
      await added;
      return route.fulfill({ response });
    }
    // On a slow connection, a change is not on the page yet when the next button is pressed.
    await new Promise((done) => setTimeout(done, 300));
    return route.continue();
  });
  await page.reload();
  await read;
  await page.getByLabel('URL', { exact: true }).fill('https://hooks.example.com/ade');
  await page.getByRole('button', { name: 'Add webhook' }).click();
  const first = await page.locator('[data-token]').innerText();
  const row = page.locator('[data-webhook]');
  await row.getByRole('button', { name: 'Send test event' }).click();
  await row.locator('[data-delivery]', { hasText: 'webhook.ping' }).waitFor();
  await row.getByRole('button', { name: 'Rotate secret' }).click();
  await row.getByRole('button', { name: 'old secret expires' }).click();
  await page.locator('[data-token]', { hasNotText: first }).waitFor();
  await row.getByRole('button', { name: 'Disable' }).click();
  await row.getByRole('button', { name: 'Enable' }).waitFor();
  await row.getByRole('button', { name: 'Delete' }).click();
  await row.getByRole('button', { name: 'Confirm: delete webhook' }).click();
  await page.getByText('No webhooks yet.').waitFor();
  await expectCalm(seat);
});

it('reminds only admins that the tenant is in setup', async () => {
  const admin = await on.sit('sam', '/settings/tokens');
  await admin.page.getByRole('note').getByText('This tenant is in setup').waitFor();
  const reviewer = await on.sit('priya', '/settings/tokens');
  await reviewer.page.getByRole('button', { name: 'Create token' }).waitFor();
  expect(await reviewer.page.getByRole('note').count()).toBe(0);
  await expectCalm(admin);
});

it('sets roles and shows the error of the server', async () => {
  const seat = await on.sit('sam', '/settings/people');
  const { page } = seat;
  const bob = page.locator('[data-user="Bob Okafor"]');
  await bob.getByRole('button', { name: 'Roles…' }).click();
  await page.getByLabel('Roles of Bob Okafor').fill('author reviewer');
  await page.getByRole('button', { name: 'Save roles' }).click();
  await bob.getByText('author, reviewer').waitFor();
  await expectCalm(seat);
  await page.goto(`${on.world.home}/settings/webhooks`);
  await page.getByRole('textbox', { name: 'URL' }).fill('ftp://hooks.example.com/ade');
  await page.getByRole('button', { name: 'Add webhook' }).click();
  const refusal = page.locator('[data-refusal="invalid_body"]');
  await refusal.getByText('`ftp://hooks.example.com/ade`').first().waitFor();
  await refusal.getByText(/req_/).waitFor();
});
