// A third-party identity provider, a server that trusts it, and a user who signs in there.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type Stack, startStack } from './stack.mjs';
import { eventually, freePort } from './wait.mjs';

const PYTHON = `${process.env.ADE_TOOLS ?? '../target/ci-tools/bin'}/python`;

export type Company = {
  readonly issuer: string;
  readonly stack: Stack;
  /** Public address of the server. */
  readonly home: string;
  /** Admin token. */
  readonly admin: string;
  call(path: string, body: unknown): Promise<Response>;
  /** Adds a user to the tenant. */
  enter(subject: string, roles?: readonly string[]): Promise<void>;
  signIn(page: Page, subject: string): Promise<void>;
  stop(): Promise<void>;
};

async function startProvider(): Promise<{ child: ChildProcess; issuer: string }> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const args = ['-m', 'oidc_provider_mock', '--port', `${port}`, '--require-nonce', 'true'];
  const child = spawn(PYTHON, args, { stdio: 'ignore' });
  const described = `${issuer}/.well-known/openid-configuration`;
  await eventually('the provider responds', async () => (await fetch(described)).ok);
  return { child, issuer };
}

/** `at` is the public host name, instead of the IP address; `more` adds settings. */
export async function startCompany(
  at = '127.0.0.1',
  more: Record<string, string> = {},
): Promise<Company> {
  const { child, issuer } = await startProvider();
  const secrets = mkdtempSync(join(tmpdir(), 'ade-secret-'));
  const secret = join(secrets, 'client');
  writeFileSync(secret, 'a secret of the client\n', { mode: 0o600 });
  const homeOf = (url: string) => url.replace('127.0.0.1', at);
  const stack = await startStack({
    more: (url) => ({
      ADE__NOTIFY__PAGE: homeOf(url),
      ADE__AUTH__PROVIDERS__COMPANY__ISSUER: issuer,
      ADE__AUTH__PROVIDERS__COMPANY__CLIENT_ID: 'ade',
      ADE__AUTH__PROVIDERS__COMPANY__CLIENT_SECRET_FILE: secret,
      ADE__AUTH__PROVIDERS__COMPANY__TITLE: 'Example Company',
      ADE__AUTH__PROVIDERS__COMPANY__ALLOW_LOOPBACK: 'true',
      ...more,
    }),
  });
  const post = (path: string, token: string, body: unknown) =>
    fetch(`${stack.url}${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const made = await post('/v1/tokens', stack.once, { scopes: ['read', 'propose'] });
  const { token: admin, key_id: key } = (await made.json()) as { token: string; key_id: string };
  // The admin would confirm these scopes with a passkey if `step_up` is `required`.
  const scopes = "'read', 'propose', 'decide', 'operate', 'administer'";
  await stack.record(`UPDATE token SET scopes = ARRAY[${scopes}] WHERE key_id = '${key}'`);
  const call = (path: string, body: unknown) => post(path, admin, body);
  return {
    issuer,
    stack,
    home: homeOf(stack.url),
    admin,
    call,
    async enter(subject, roles = ['reviewer']) {
      const person = { name: subject.split('@')[0], issuer, subject, roles };
      const answer = await call('/v1/users', person);
      if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
    },
    async signIn(page, subject) {
      await page.goto(`${homeOf(stack.url)}/auth/login?provider=company&return_to=/inbox`);
      await page.waitForURL(`${issuer}/**`);
      await page.locator('input[name=sub]').first().fill(subject);
      await page.locator('button[type=submit], input[type=submit]').first().click();
    },
    async stop() {
      await stack.stop();
      child.kill();
      rmSync(secrets, { recursive: true, force: true });
    },
  };
}
