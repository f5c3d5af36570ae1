// A terminal without a browser asks to be let in; its person answers in one.
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
/** Where its person is sent, without the host. */
const pathOf = ({ verification_uri_complete: uri }: Login) => uri.replace(on.world.home, '');

it('lets a terminal in as its person, for no more than was ticked', async () => {
  const login = await asks('ade on laptop');
  expect(pathOf(login)).toBe(`/device?code=${login.user_code}`);
  const seat = await on.sit('priya', pathOf(login));
  const { page } = seat;
  await live(page);
  await page.locator(`[data-code="${login.user_code}"]`).waitFor();
  for (const word of ['ade on laptop', 'ade/1.2 (linux)', '127.0.0.1']) {
    await page.getByText(word).first().waitFor();
  }
  await page.getByLabel('propose tasks').uncheck();
  await page.getByRole('button', { name: 'Let it in' }).click();
  await page.getByText('It is let in').waitFor();
  const { access_token: token, scope } = await poll(login);
  expect(scope?.split(' ')).toContain('read');
  expect(scope?.split(' ')).not.toContain('propose');
  const me = await caller(on.world.stack.url, token!)('GET', '/v1/me');
  expect(JSON.stringify(me)).toContain(on.world.people.priya.id);
  expect((await poll(login)).code, 'the token is told once').toBe('expired_token');
  await expectCalm(seat);
});

it('gives nothing to a terminal that was turned away', async () => {
  const login = await asks('ade on a strange machine');
  const seat = await on.sit('priya', pathOf(login));
  const { page } = seat;
  await page.getByRole('button', { name: 'Turn it away' }).click();
  await page.getByText('It was turned away').waitFor();
  expect(await poll(login)).toMatchObject({ code: 'access_denied' });
  await expectCalm(seat);
});

it('knows no terminal by a wrong code, and takes the right one when it is typed', async () => {
  const login = await asks('ade on laptop');
  expect(await poll(login)).toMatchObject({ code: 'authorization_pending' });
  const { page } = await on.sit('priya', '/device');
  const field = page.getByLabel('The code that your terminal shows');
  const go = page.getByRole('button', { name: 'Go on' });
  await field.fill('BCDF');
  expect(await go.getAttribute('aria-disabled'), 'half a code is none').toBe('true');
  const wrong = login.user_code === 'BCDF-GHJK' ? 'BCDF-GHJL' : 'BCDF-GHJK';
  await field.fill(wrong.toLowerCase());
  await go.click();
  await page.getByText('No terminal waits with this code').waitFor();
  await field.fill(login.user_code.replace('-', ' ').toLowerCase());
  await page.keyboard.press('Enter');
  await page.locator(`[data-code="${login.user_code}"]`).waitFor();
});

it('asks who somebody is first, and comes back with the code', async () => {
  const login = await asks('ade on laptop');
  const { page } = await on.sit('nobody', pathOf(login));
  await page.getByRole('link', { name: /Sign in with/ }).click();
  await page.getByRole('button', { name: 'Lena Koch' }).click();
  await page.locator(`[data-code="${login.user_code}"]`).waitFor();
});
