import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { caller, PEOPLE } from './seed.mjs';

const on = stage();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

it('offers all sign-in methods and returns to the requested page', async () => {
  const { page } = await on.sit('anonymous', '/tasks/task_x');
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

it('explains missing sign-in methods and a silent server', async () => {
  const { page } = await on.sit('anonymous', '/nowhere');
  await page.route('**/v1/auth', (route) => route.fulfill({ json: { providers: [] } }));
  await page.reload();
  await page.getByText('No identity provider is set up').waitFor();
  await page.route('**/v1/auth', (route) => route.abort());
  await page.reload();
  await page.getByText('sign-in methods could not be loaded').waitFor({ timeout: 20_000 });
});

it('keeps typed text when a session expires and continues after sign-in', async () => {
  const { page, context } = await on.sit('sam', '/policies/new', { isAlone: true });
  await live(page);
  const area = page.getByLabel('Policy (YAML)');
  await area.fill('name: half-written');
  const away = await context.newPage();
  await away.goto(`${on.world.home}/inbox`);
  await away.getByRole('button', { name: 'Sam Ortiz: settings' }).click();
  await away.getByRole('menuitem', { name: 'Sign out' }).click();
  await away.getByRole('link', { name: 'Sign in with your company account' }).waitFor();
  const notice = page.getByRole('alertdialog', { name: 'Session expired' });
  await notice.waitFor();
  expect(await area.inputValue()).toBe('name: half-written');
  const opened = context.waitForEvent('page');
  await notice.getByRole('link', { name: 'Sign in with your company account' }).click();
  const other = await opened;
  await other.getByRole('button', { name: 'Sam Ortiz' }).click();
  await other.getByText('You are signed in').waitFor();
  await notice.waitFor({ state: 'detached' });
  await live(page);
  expect(await area.inputValue(), 'no text is lost').toBe('name: half-written');
});

it('ends other sessions immediately', async () => {
  const phone = await on.sit('lena', '/inbox', { isAlone: true, size: 'phone' });
  await live(phone.page);
  const seat = await on.sit('lena', '/settings/sessions', { isAlone: true });
  const { page } = seat;
  await page.locator('[data-session]', { hasText: 'This session' }).waitFor();
  const other = page.locator('[data-session]', { hasNotText: 'This session' });
  await other.getByRole('button', { name: 'End session' }).click();
  await other.getByRole('button', { name: 'Confirm: end session' }).click();
  await other.waitFor({ state: 'detached' });
  await phone.page.getByRole('alertdialog', { name: 'Session expired' }).waitFor();
  await expectCalm(seat);
});

it('switches the tenant and signs out', async () => {
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

it('explains why a sign-in failed', async () => {
  const { page } = await on.sit('anonymous', '/sign-in?problem=no_tenant');
  await page.getByRole('alert').getByText('no account').waitFor();
  const link = page.getByRole('link', { name: 'Sign in with your company account' });
  expect(await link.getAttribute('href')).toBe('/auth/login?provider=company&return_to=%2Finbox');
});

it('asks before a person joins a tenant', async () => {
  const { page } = await on.sit('anonymous', '/inbox');
  // A link from elsewhere leads to the page that says what joining means.
  await page.goto(`${on.world.home}/auth/login?provider=company&tenant=acme`);
  await page.waitForURL(/\/sign-in\?tenant=acme$/);
  await page.getByRole('heading', { name: 'Join a tenant' }).waitFor();
  await page.getByText('Its admins then see your name').waitFor();
  if (process.env.ADE_SHOT) await page.screenshot({ path: `${process.env.ADE_SHOT}/join.png` });
  await page.getByRole('link', { name: 'Join with your company account' }).click();
  await page.getByRole('button', { name: 'Lena' }).click();
  await page.waitForURL(/\/inbox/);
  await page.getByRole('heading', { name: 'Inbox', exact: true }).waitFor();
});
