// Sign-in with embedded pages and a third-party identity provider: from the first visit to the
// inbox, and sign-out.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launch, live } from './browser';
import { type Company, startCompany } from './provider';

let company: Company;
let browser: Browser;

beforeAll(async () => {
  company = await startCompany();
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  await company?.stop();
});

it('signs a person in through a provider and out again', async () => {
  await company.enter('ada@example.org');
  const { stack, issuer } = company;
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(`${stack.url}/inbox`);
  await page.getByRole('link', { name: 'Example Company' }).click();
  await page.waitForURL(`${issuer}/**`);
  await page.locator('input[name=sub]').first().fill('ada@example.org');
  await page.locator('button[type=submit], input[type=submit]').first().click();
  await page.waitForURL(`${stack.url}/inbox`);
  await page.getByRole('heading', { name: 'Inbox', exact: true }).waitFor();
  await live(page);
  if (process.env.ADE_SHOT) await page.screenshot({ path: process.env.ADE_SHOT });

  const cookies = await context.cookies();
  const session = cookies.find(({ name }) => name === '__Host-ade_s');
  expect(session).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Lax', path: '/' });
  const out = await page.evaluate(async () => {
    const headers = { 'X-ADE-Request': '1' };
    const answer = await fetch('/auth/logout', { method: 'POST', headers });
    return [answer.status, (await fetch('/v1/session')).status];
  });
  expect(out).toEqual([204, 401]);
  expect(complaints).toEqual([]);
});

it('rejects users without an account', async () => {
  const page = await (await browser.newContext()).newPage();
  await company.signIn(page, 'eve@example.org');
  await page.waitForURL(`${company.stack.url}/sign-in?problem=no_tenant`);
});
