import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { eventually } from './wait.mjs';
import type { Person } from './world.mjs';

const on = stage();
const bot = (name: string): Person => on.world.people.bots[name]!;

interface Lease {
  readonly lease_id: string;
  readonly process_id: string;
}

const lockOf = (id: string) =>
  on.world.people.sam.call<{ waiting: number }>('GET', `/v1/locks/service/${id}`);

const want = (by: Person, id: string, more: Record<string, unknown> = {}) =>
  by.call<Lease>('POST', '/v1/locks/acquire', {
    resources: [`service:${id}`],
    ttl_seconds: 120,
    ...more,
  });

it('shows holders and waiting requests, and breaks a lock with a reason', async () => {
  await want(bot('infra-bot'), 'checkout', { fenced: true, purpose: 'reindex' });
  const first = want(bot('release-agent'), 'checkout', { wait: '50s' });
  const seat = await on.sit('sam', '/locks');
  const { page } = seat;
  await live(page);
  await page.locator('[data-root="1"]').waitFor();
  const second = want(bot('db-migrator'), 'checkout', { wait: '50s' });
  await page.locator('[data-root="2"]').waitFor();
  const root = await page.locator('[data-root]').innerText();
  expect(root).toMatch(/infra-bot[\s\S]*holds[\s\S]*service:checkout/);
  expect(root).toMatch(/release-agent waits for service:checkout/);
  await page.getByRole('button', { name: 'Show as graph' }).click();
  await page.getByRole('group', { name: 'Graph' }).focus();
  const names = ['infra-bot holds', 'release-agent waits for', 'db-migrator waits for'];
  for (const name of names) {
    await page.keyboard.press('Tab');
    const here = await page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    expect(here).toBe(`${name} service:checkout`);
  }
  await page.getByRole('button', { name: 'Show as list' }).click();
  await page.getByRole('button', { name: 'service:checkout' }).first().click();
  const queue = page.locator('[data-queue] li');
  await queue.nth(1).waitFor();
  const shown = await queue.allInnerTexts();
  const lock = await on.world.people.sam.call<{ queue: { agent_id: string }[] }>(
    'GET',
    '/v1/locks/service/checkout',
  );
  const bots = Object.values(on.world.people.bots);
  expect(shown.map((text) => bots.find(({ name }) => text.includes(name))?.id)).toEqual(
    lock.queue.map(({ agent_id: agent }) => agent),
  );
  const send = page.getByRole('button', { name: 'Break lock' });
  expect(await send.getAttribute('aria-disabled')).toBe('true');
  await page.getByLabel('Type service:checkout').fill('service:checkout');
  expect(await send.getAttribute('aria-disabled'), 'a reason is needed').toBe('true');
  await page.getByLabel('Reason').fill('INC-441: its holder hangs');
  await send.click();
  await page.getByText('Broke 1 lease on service:checkout').waitFor();
  const audit = await on.world.people.sam.call('GET', '/v1/audit?page_size=50');
  expect(JSON.stringify(audit)).toContain('its holder hangs');
  await expectCalm(seat);
  const { lease_id: lease } = await first;
  await bot('release-agent').call('POST', `/v1/leases/${lease}/release`);
  await second;
});

it('clears the typed confirmation when the lock changes hands', async () => {
  const { lease_id: lease } = await want(bot('infra-bot'), 'handed-on');
  const seat = await on.sit('sam', '/locks?view=all');
  const { page } = seat;
  await live(page);
  await page.getByRole('button', { name: 'service:handed-on' }).first().click();
  const typed = page.getByLabel('Type service:handed-on');
  await typed.fill('service:handed-on');
  await page.getByLabel('Reason').fill('INC-442: infra-bot hangs');
  const next = want(bot('release-agent'), 'handed-on', { wait: '20s' });
  // Without a waiting request the lock would be free for a moment, and the page would show that.
  await eventually('a request is waiting', async () => (await lockOf('handed-on')).waiting === 1);
  await bot('infra-bot').call('POST', `/v1/leases/${lease}/release`);
  const { lease_id: taken } = await next;
  await page.getByRole('dialog').getByText('release-agent').waitFor({ timeout: 10_000 });
  await expect.poll(() => typed.inputValue(), { timeout: 5_000 }).toBe('');
  const send = page.getByRole('button', { name: 'Break lock' });
  expect(await send.getAttribute('aria-disabled')).toBe('true');
  await expectCalm(seat);
  await bot('release-agent').call('POST', `/v1/leases/${taken}/release`);
});

it('breaks only the lock of the holder that was shown', async () => {
  const { lease_id: lease } = await want(bot('infra-bot'), 'seen');
  const { page } = await on.sit('sam', '/locks?view=all');
  await live(page);
  await page.getByRole('button', { name: 'service:seen' }).first().click();
  await page.getByLabel('Type service:seen').fill('service:seen');
  await page.getByLabel('Reason').fill('INC-443: infra-bot hangs');
  // From here on the page receives no updates of the lock.
  await page.route('**/v1/locks/service/seen', (route) => route.abort());
  const next = want(bot('release-agent'), 'seen', { wait: '20s' });
  await bot('infra-bot').call('POST', `/v1/leases/${lease}/release`);
  const { lease_id: taken } = await next;
  const answer = page.waitForResponse((response) => response.url().endsWith('/break'));
  await page.getByRole('button', { name: 'Break lock' }).click();
  expect((await answer).status()).toBe(404);
  await bot('release-agent').call('POST', `/v1/leases/${taken}/release`);
});

it('describes a deadlock of three and the aborted request', async () => {
  const names = ['infra-bot', 'release-agent', 'db-migrator'];
  const held = await Promise.all(names.map((name, index) => want(bot(name), `ring-${index}`)));
  const seat = await on.sit('priya', '/locks?view=deadlocks');
  const { page } = seat;
  await live(page);
  await page.getByText('No deadlocks').waitFor();
  const waits = names.map((name, index) => {
    const { process_id } = held[index]!;
    const wait = want(bot(name), `ring-${(index + 1) % 3}`, { process_id, wait: '5s' });
    return wait.catch(() => undefined);
  });
  await page.locator('[data-deadlock]').waitFor();
  const text = await page.locator('[data-deadlock]').first().innerText();
  expect(text).toMatch(/was chosen to abort/);
  for (const name of names) expect(text).toContain(name);
  await expectCalm(seat);
  await Promise.all(waits);
});

it('lets only operators take an incident lock', async () => {
  const reader = await on.sit('priya', '/locks');
  expect(
    await reader.page.getByRole('button', { name: 'Take lock…' }).getAttribute('aria-disabled'),
  ).toBe('true');
  const seat = await on.sit('sam', '/locks?view=all');
  const { page } = seat;
  await live(page);
  await page.getByRole('button', { name: 'Take lock…' }).click();
  await page.getByLabel('Resources').fill('database:shop');
  await page.getByLabel('Reason').fill('INC-441: looking at it');
  await page.keyboard.press('Enter');
  await page.locator('[data-lock="database:shop"]').waitFor();
  await expectCalm(seat);
});
