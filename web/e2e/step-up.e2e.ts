// High-risk approvals require a passkey: with Chromium's virtual authenticator, the embedded pages
// and a third-party identity provider.
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launch, read } from './browser';
import { type Company, startCompany } from './provider';
import { eventually } from './wait.mjs';

let company: Company;
let browser: Browser;
let author = '';

async function call<T>(token: string, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(`${company.stack.url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

beforeAll(async () => {
  // Passkeys are bound to host names, not to IP addresses.
  company = await startCompany('localhost', { ADE__AUTH__STEP_UP: 'required' });
  const { admin } = company;
  const person = { name: 'Bob', roles: ['author'] };
  const bob = await call<{ id: string }>(admin, 'POST', '/v1/users', person);
  const made = { user_id: bob.id, scopes: ['read', 'propose'] };
  ({ token: author } = await call<{ token: string }>(admin, 'POST', '/v1/tokens', made));
  await company.enter('ada@example.org');
  await call(admin, 'PUT', '/v1/flags/batch_approvals', { enabled: true });
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  await company?.stop();
});

interface Task {
  readonly id: string;
  readonly number: number;
  readonly version: number;
  readonly state: string;
  readonly risk: { readonly level: string };
}

const stateOf = async (task: Task) =>
  (await call<Task>(author, 'GET', `/v1/tasks/${task.id}`)).state;

/** Submits a declared change of an unrated database, which makes the task HIGH. */
async function waiting(database: string, level = 'high'): Promise<Task> {
  const resource = `database:${database}`;
  const change = { action: 'add', irreversible: false, summary: 'one column' };
  const task = await call<Task>(author, 'POST', '/v1/tasks', {
    title: `Change ${database}`,
    type: 'db.change',
    parameters: { for: 'all' },
    resources: [{ resource, mode: 'exclusive' }],
    plan: { changes: [{ resource, ...change }] },
  });
  expect(task.risk.level).toBe(level);
  const sent = await fetch(`${company.stack.url}/v1/tasks/${task.id}/submit`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${author}`, 'If-Match': `"${task.version}"` },
  });
  expect(sent.status).toBe(202);
  await eventually('it is reviewed', async () => (await stateOf(task)) === 'REVIEWING');
  return task;
}

interface Seat {
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly key: string;
}

/** Ada's browser with a virtual passkey. */
async function sit(): Promise<Seat> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId: key } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await company.signIn(page, 'ada@example.org');
  await page.waitForURL(`${company.home}/inbox`);
  return { page, cdp, key };
}

const verified = ({ cdp, key: authenticatorId }: Seat, isUserVerified: boolean) =>
  cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });

it('approves a high-risk task only with a passkey', async () => {
  const task = await waiting('orders');
  const seat = await sit();
  const { page, cdp, key } = seat;
  const { home, admin } = company;
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));

  await page.goto(`${home}/tasks/${task.id}`);
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  await page.getByText('Add a passkey first').waitFor();
  expect(await stateOf(task)).toBe('REVIEWING');

  await page.goto(`${home}/settings/passkeys`);
  await page.getByLabel('Passkey name').fill('This desk');
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.locator('[data-passkey]', { hasText: 'This desk' }).waitFor();
  if (process.env.ADE_SHOT) await page.screenshot({ path: `${process.env.ADE_SHOT}/list.png` });
  const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId: key });
  expect(credentials.map(({ rpId }) => rpId)).toEqual(['localhost']);

  await page.goto(`${home}/tasks/${task.id}`);
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  const dialog = page.getByRole('dialog', { name: 'Confirm your approval' });
  await dialog.getByText(`T-${task.number}`).waitFor();
  if (process.env.ADE_SHOT) await page.screenshot({ path: `${process.env.ADE_SHOT}/ask.png` });
  // The passkey is not unlocked, so there is no confirmation and no vote.
  await verified(seat, false);
  await dialog.getByRole('button', { name: 'Approve with passkey' }).click();
  await dialog.getByRole('alert').waitFor();
  expect(await stateOf(task)).toBe('REVIEWING');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Passkey confirmation required').waitFor();

  await verified(seat, true);
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  await dialog.waitFor();
  // The focus is on Cancel: letters do nothing, and a space cancels.
  await page.keyboard.type('arcaa');
  expect(await dialog.count()).toBe(1);
  await page.keyboard.press('Space');
  await dialog.waitFor({ state: 'detached' });
  expect(await stateOf(task)).toBe('REVIEWING');

  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  await dialog.waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.locator('[data-dock="voted"]').waitFor();
  expect(await stateOf(task)).toBe('APPROVED');
  const audit = await call<{ items: { leaf: { what: { action: string } } }[] }>(
    admin,
    'GET',
    '/v1/audit?page_size=50',
  );
  const actions = audit.items.map(({ leaf }) => leaf.what.action);
  expect(actions).toEqual(
    expect.arrayContaining(['passkey.add', 'step_up.give', 'step_up.use', 'task.approve']),
  );

  // One confirmation covers a whole batch.
  const twins = [await waiting('one'), await waiting('two')];
  await page.goto(`${home}/inbox`);
  for (const { number } of twins) await page.getByText(`T-${number} ·`).first().waitFor();
  await page.keyboard.press('x');
  await page.keyboard.press('Shift+J');
  await page.getByText('2 selected').waitFor();
  const selected = page.getByRole('region', { name: 'Selected' });
  await selected.getByRole('button', { name: 'Approve…' }).click();
  const drawer = page.getByRole('dialog', { name: 'Approve 2 tasks' });
  await drawer.getByText(/2 ready, 0 left out/).waitFor();
  await read(page, /^Approve 2$/);
  await drawer.getByRole('button', { name: 'Approve 2' }).click();
  const both = page.getByRole('dialog', { name: 'Confirm your approval' });
  for (const twin of twins) await both.getByText(`T-${twin.number}`).waitFor();
  await both.getByRole('button', { name: 'Approve with passkey' }).click();
  await page.getByText('Approved 2 tasks together').waitFor();
  for (const twin of twins) expect(await stateOf(twin)).toBe('APPROVED');

  // A token that decides is confirmed with its terms; one that only reads is not.
  await page.goto(`${home}/settings/tokens`);
  await page.getByLabel('Description').fill('laptop');
  await page.getByLabel('Approve and reject tasks').check();
  await page.getByRole('button', { name: 'Create token' }).click();
  const terms = page.getByRole('dialog', { name: 'Confirm the new token' });
  for (const term of ['scope:read', 'scope:decide', 'lifetime:2592000s', 'label'])
    await terms.getByText(term, { exact: true }).waitFor();
  if (process.env.ADE_SHOT) await page.screenshot({ path: `${process.env.ADE_SHOT}/token.png` });
  await terms.getByRole('button', { name: 'Create with passkey' }).click();
  await page.getByText('Shown only once').waitFor();

  // Removing a passkey requires its own confirmation.
  await page.goto(`${home}/settings/passkeys`);
  const desk = page.locator('[data-passkey]', { hasText: 'This desk' });
  await desk.getByRole('button', { name: 'Remove passkey' }).click();
  await desk.getByRole('button', { name: 'Confirm: remove passkey' }).click();
  await page.getByRole('button', { name: 'Remove with passkey' }).click();
  await desk.waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
});

it('requires the resource name for a critical task', async () => {
  const { admin, home } = company;
  const set = await fetch(`${company.stack.url}/v1/risk/settings`, {
    method: 'PUT',
    headers: {
      Authorization: `Bearer ${admin}`,
      'Content-Type': 'application/json',
      'If-Match': '"0"',
    },
    body: JSON.stringify({ thresholds: { medium: 10, high: 20, critical: 30 } }),
  });
  expect(set.status).toBe(200);
  const task = await waiting('ledger', 'critical');
  const { page } = await sit();
  await page.goto(`${home}/settings/passkeys`);
  await page.getByLabel('Passkey name').fill('This desk');
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.locator('[data-passkey]', { hasText: 'This desk' }).waitFor();
  await page.goto(`${home}/tasks/${task.id}`);
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  const dialog = page.getByRole('dialog');
  const approve = dialog.getByRole('button', { name: /^Approve rev 1/ });
  expect(await approve.getAttribute('aria-disabled')).toBe('true');
  await dialog.getByLabel(/Type database:ledger/).fill('database:ledge');
  expect(await approve.getAttribute('aria-disabled')).toBe('true');
  await dialog.getByLabel(/Type database:ledger/).fill('database:ledger');
  await approve.click();
  await page.getByRole('button', { name: 'Approve with passkey' }).click();
  await page.locator('[data-dock="voted"]').waitFor();
  expect(await stateOf(task)).toBe('APPROVED');
});
