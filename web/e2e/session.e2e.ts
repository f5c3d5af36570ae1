import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { caller, PEOPLE } from './seed.mjs';

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
  const { page, context } = await on.sit('sam', '/policies/new', { isAlone: true });
  await live(page);
  const area = page.getByLabel('The policy in YAML');
  await area.fill('name: half-written');
  const away = await context.newPage();
  await away.goto(`${on.world.home}/inbox`);
  await away.getByRole('button', { name: 'Sam Ortiz: settings' }).click();
  await away.getByRole('menuitem', { name: 'Sign out' }).click();
  await away.getByRole('link', { name: 'Sign in with your company account' }).waitFor();
  const notice = page.getByRole('alertdialog', { name: 'Your session has ended' });
  await notice.waitFor();
  expect(await area.inputValue()).toBe('name: half-written');
  const opened = context.waitForEvent('page');
  await notice.getByRole('link', { name: 'Sign in with your company account' }).click();
  const other = await opened;
  await other.getByRole('button', { name: 'Sam Ortiz' }).click();
  await other.getByText('You are signed in').waitFor();
  await notice.waitFor({ state: 'detached' });
  await live(page);
  expect(await area.inputValue(), 'nothing is lost').toBe('name: half-written');
});

it('ends other sessions, at once and for good', async () => {
  const phone = await on.sit('lena', '/inbox', { isAlone: true, size: 'phone' });
  await live(phone.page);
  const seat = await on.sit('lena', '/settings/sessions', { isAlone: true });
  const { page } = seat;
  await page.locator('[data-session]', { hasText: 'This one' }).waitFor();
  const other = page.locator('[data-session]', { hasNotText: 'This one' });
  await other.getByRole('button', { name: 'End' }).click();
  await other.getByRole('button', { name: 'End it now?' }).click();
  await other.waitFor({ state: 'detached' });
  await phone.page.getByRole('alertdialog', { name: 'Your session has ended' }).waitFor();
  await expectCalm(seat);
});

it('switches the tenant, and signs out', async () => {
  const { stack, issuer } = on.world;
  const seat = await on.sit('sam', '/settings/people', { isAlone: true });
  const { page } = seat;
  await page.locator('[data-user="Priya Nair"]').waitFor();
  const once = caller(stack.url, stack.tenant('Warehouse'));
  const { name, subject } = PEOPLE.sam;
  await once('POST', '/v1/users', { name, roles: ['author'], issuer, subject });
  await page.reload();
  const menu = () => page.getByRole('button', { name: 'Sam Ortiz: settings' }).click();
  await menu();
  await page.getByRole('menuitemradio', { name: 'Warehouse' }).click();
  await page.waitForURL(/\/inbox/);
  await menu();
  const chosen = page.getByRole('menuitemradio', { name: 'Warehouse' });
  expect(await chosen.getAttribute('aria-checked')).toBe('true');
  await page.keyboard.press('Escape');
  await page.goto(`${on.world.home}/settings/people`);
  await page.locator('[data-user="Sam Ortiz"]').waitFor();
  expect(await page.locator('[data-user="Priya Nair"]').count()).toBe(0);
  await expectCalm(seat);
  await menu();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('link', { name: 'Sign in with your company account' }).waitFor();
  await page.goto(`${on.world.home}/settings/people`);
  await page.getByRole('link', { name: 'Sign in with your company account' }).waitFor();
});

it('says on the page why somebody was not let in', async () => {
  const { page } = await on.sit('nobody', '/sign-in?problem=no_tenant');
  await page.getByRole('alert').getByText('no account').waitFor();
  const link = page.getByRole('link', { name: 'Sign in with your company account' });
  expect(await link.getAttribute('href')).toBe('/auth/login?provider=company&return_to=%2Finbox');
});
