import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';

const on = stage();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

it('offers every way to sign in, and comes back to the page that was asked for', async () => {
  const { page } = await on.sit('nobody', '/tasks/task_x');
  const link = page.getByRole('link', { name: 'Sign in with your company account' });
  await link.waitFor();
  expect(await link.getAttribute('href')).toBe(
    '/auth/login?provider=company&return_to=%2Ftasks%2Ftask_x',
  );
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    type Axe = { run: () => Promise<{ violations: { id: string }[] }> };
    const { axe: checker } = globalThis as unknown as { axe: Axe };
    return (await checker.run()).violations.map(({ id }) => id);
  });
  expect(found).toEqual([]);
  const stored = await page.evaluate(
    () => JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie,
  );
  expect(stored).not.toMatch(/ade_(usr|agt)_/);
});

it('says so if the server offers no way, or does not answer', async () => {
  const { page } = await on.sit('nobody', '/nowhere');
  await page.route('**/v1/auth', (route) => route.fulfill({ json: { providers: [] } }));
  await page.reload();
  await page.getByText('Nobody has set up a way').waitFor();
  await page.route('**/v1/auth', (route) => route.abort());
  await page.reload();
  await page.getByText('does not say how to sign in').waitFor({ timeout: 20_000 });
});

it('keeps what was typed when a session ends, and goes on after signing in elsewhere', async () => {
  const { page, context } = await on.sit('sam', '/policies/new');
  await live(page);
  const area = page.getByLabel('The policy in YAML');
  await area.fill('name: half-written');
  let isOut = true;
  await page.route(/\/v1\/(policies\/simulate|ws\/tickets)$/, (route) => {
    if (!isOut) return route.continue();
    const body = { code: 'unauthenticated', title: 'Nobody is signed in', status: 401 };
    const more = { detail: '', retriable: false, request_id: 'req_x', next_action: { says: '' } };
    return route.fulfill({ status: 401, json: { ...body, ...more } });
  });
  on.world.cut('sam', true);
  on.world.cut('sam', false);
  await page.locator('[data-pill="live"]').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Replay past tasks' }).click();
  const notice = page.getByRole('alertdialog', { name: 'Your session has ended' });
  await notice.waitFor();
  const link = notice.getByRole('link', { name: 'Sign in with your company account' });
  expect(await link.getAttribute('href')).toContain('return_to=%2Fsigned-in');
  expect(await area.inputValue()).toBe('name: half-written');
  isOut = false;
  const other = await context.newPage();
  await other.goto(`${on.world.at('sam')}/signed-in`);
  await other.getByText('You are signed in').waitFor();
  await notice.waitFor({ state: 'detached' });
  await live(page);
  expect(await area.inputValue(), 'nothing is lost').toBe('name: half-written');
});

it('switches the tenant, ends other sessions, and signs out', async () => {
  const seat = await on.sit('sam', '/settings/sessions');
  const { page } = seat;
  await page.locator('[data-session="ses_this"]').getByText('This one').waitFor();
  const other = page.locator('[data-session="ses_other"]');
  await other.getByRole('button', { name: 'End' }).click();
  await other.getByRole('button', { name: 'End it now?' }).click();
  await other.waitFor({ state: 'detached' });
  const sent = page.waitForRequest('**/v1/session/tenant');
  await page.getByRole('button', { name: 'Sam Ortiz: settings' }).click();
  await page.getByRole('menuitemradio', { name: 'Warehouse' }).click();
  expect((await sent).headers()['x-ade-request']).toBe('1');
  await page.waitForURL(/\/inbox/);
  await page.getByRole('button', { name: 'Sam Ortiz: settings' }).click();
  const chosen = page.getByRole('menuitemradio', { name: 'Warehouse' });
  expect(await chosen.getAttribute('aria-checked')).toBe('true');
  const out = page.waitForRequest('**/auth/logout');
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  expect((await out).method()).toBe('POST');
  await expectCalm(seat);
});
