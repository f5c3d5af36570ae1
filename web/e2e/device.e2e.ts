// Device login: a terminal requests access, and its user authorizes it in a browser.
import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { caller } from './seed.mjs';

const on = stage();

interface Login {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri_complete: string;
}

interface Answer {
  readonly code?: string;
  readonly access_token?: string;
  readonly scope?: string;
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await fetch(on.world.stack.url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'User-Agent': 'ade/1.2 (linux)' },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as T;
}

const asks = (name: string) => post<Login>('/auth/device', { client_name: name });
const poll = (login: Login) =>
  post<Answer>('/auth/device/token', { device_code: login.device_code });
/** Verification address for the user, without the host. */
const pathOf = ({ verification_uri_complete: uri }: Login) => uri.replace(on.world.home, '');

it('authorizes a terminal with the selected scopes only', async () => {
  const login = await asks('ade on laptop');
  expect(pathOf(login)).toBe(`/device?code=${login.user_code}`);
  const seat = await on.sit('priya', pathOf(login));
  const { page } = seat;
  await live(page);
  await page.locator(`[data-code="${login.user_code}"]`).waitFor();
  for (const word of ['ade on laptop', 'ade/1.2 (linux)', '127.0.0.1']) {
    await page.getByText(word).first().waitFor();
  }
  await page.getByLabel('Propose tasks').uncheck();
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByText('Terminal authorized').waitFor();
  const { access_token: token, scope } = await poll(login);
  expect(scope?.split(' ')).toContain('read');
  expect(scope?.split(' ')).not.toContain('propose');
  const me = await caller(on.world.stack.url, token!)('GET', '/v1/me');
  expect(JSON.stringify(me)).toContain(on.world.people.priya.id);
  expect((await poll(login)).code, 'the token is returned once').toBe('expired_token');
  await expectCalm(seat);
});

it('gives a denied terminal no token', async () => {
  const login = await asks('ade on a strange machine');
  const seat = await on.sit('priya', pathOf(login));
  const { page } = seat;
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('Sign-in denied').waitFor();
  expect(await poll(login)).toMatchObject({ code: 'access_denied' });
  await expectCalm(seat);
});

it('rejects a wrong code and accepts a typed correct one', async () => {
  const login = await asks('ade on laptop');
  expect(await poll(login)).toMatchObject({ code: 'authorization_pending' });
  const { page } = await on.sit('priya', '/device');
  const field = page.getByLabel('Code shown in your terminal');
  const go = page.getByRole('button', { name: 'Continue' });
  await field.fill('BCDF');
  expect(await go.getAttribute('aria-disabled'), 'half a code is not enough').toBe('true');
  const wrong = login.user_code === 'BCDF-GHJK' ? 'BCDF-GHJL' : 'BCDF-GHJK';
  await field.fill(wrong.toLowerCase());
  await go.click();
  await page.getByText('No terminal is waiting with this code').waitFor();
  await field.fill(login.user_code.replace('-', ' ').toLowerCase());
  await page.keyboard.press('Enter');
  await page.locator(`[data-code="${login.user_code}"]`).waitFor();
});

it('asks for sign-in first and returns with the code', async () => {
  const login = await asks('ade on laptop');
  const { page } = await on.sit('anonymous', pathOf(login));
  await page.getByRole('link', { name: /Sign in with/ }).click();
  await page.getByRole('button', { name: 'Lena Koch' }).click();
  await page.locator(`[data-code="${login.user_code}"]`).waitFor();
});
