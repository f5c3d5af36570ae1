// The pages inside the server, and a provider that somebody else has written: from the first visit
// to the inbox, and out again.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { live } from './browser';
import { eventually, freePort, type Stack, startStack } from './stack.mjs';

const PYTHON = `${process.env.ADE_TOOLS ?? '../target/ci-tools/bin'}/python`;

let provider: ChildProcess;
let issuer = '';
let stack: Stack;
let browser: Browser;
const secrets = mkdtempSync(join(tmpdir(), 'ade-secret-'));

beforeAll(async () => {
  const port = await freePort();
  issuer = `http://127.0.0.1:${port}`;
  const args = ['-m', 'oidc_provider_mock', '--port', `${port}`, '--require-nonce', 'true'];
  provider = spawn(PYTHON, args, { stdio: 'ignore' });
  const described = `${issuer}/.well-known/openid-configuration`;
  await eventually('the provider answers', async () => (await fetch(described)).ok);
  const secret = join(secrets, 'client');
  writeFileSync(secret, 'a secret of the client\n', { mode: 0o600 });
  stack = await startStack({
    origins: [],
    more: (url) => ({
      ADE__NOTIFY__PAGE: url,
      ADE__AUTH__PROVIDERS__COMPANY__ISSUER: issuer,
      ADE__AUTH__PROVIDERS__COMPANY__CLIENT_ID: 'ade',
      ADE__AUTH__PROVIDERS__COMPANY__CLIENT_SECRET_FILE: secret,
      ADE__AUTH__PROVIDERS__COMPANY__TITLE: 'Example Company',
      ADE__AUTH__PROVIDERS__COMPANY__ALLOW_LOOPBACK: 'true',
    }),
  });
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
});

afterAll(async () => {
  await browser?.close();
  await stack?.stop();
  provider?.kill();
  rmSync(secrets, { recursive: true, force: true });
});

async function enter(subject: string) {
  const call = (path: string, token: string, body: unknown) =>
    fetch(`${stack.url}${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const scopes = ['read', 'administer'];
  const made = (await (await call('/v1/tokens', stack.once, { scopes })).json()) as {
    token: string;
  };
  const person = { name: 'Ada', issuer, subject, roles: ['reviewer'] };
  expect((await call('/v1/users', made.token, person)).status).toBe(201);
}

it('signs a person in through a provider, and out again', async () => {
  await enter('ada@example.org');
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
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  await live(page);
  if (process.env.ADE_SHOT) await page.screenshot({ path: process.env.ADE_SHOT });

  const cookies = await context.cookies();
  const session = cookies.find(({ name }) => name === '__Host-ade_s');
  expect(session).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Lax', path: '/' });
  const foreign = await page.evaluate(async (url) => {
    // Without the mark of our own pages.
    const answer = await fetch(`${url}/v1/ws/tickets`, { method: 'POST' });
    return answer.status;
  }, stack.url);
  expect(foreign).toBe(403);
  const out = await page.evaluate(async () => {
    const headers = { 'X-ADE-Request': '1' };
    const answer = await fetch('/auth/logout', { method: 'POST', headers });
    return [answer.status, (await fetch('/v1/session')).status];
  });
  expect(out).toEqual([204, 401]);
  expect(complaints).toEqual([]);
});

it('lets nobody in whom no tenant knows', async () => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${stack.url}/auth/login?provider=company&return_to=/inbox`);
  await page.locator('input[name=sub]').first().fill('eve@example.org');
  await page.locator('button[type=submit], input[type=submit]').first().click();
  await page.waitForURL(`${stack.url}/sign-in?problem=no_tenant`);
});
