import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { expectCalm, live, read, stage } from './browser';
import { declared, propose, type TaskNow } from './seed.mjs';

const on = stage();
const ROWS = 24;

const made: TaskNow[] = [];
let critical: TaskNow;

beforeAll(async () => {
  const { bots, sam } = on.world.people;
  const restart = (nth: number) =>
    declared(
      `Restart worker ${nth}`,
      'service.restart',
      'worker:billing',
      [{ action: 'change', summary: 'restart it' }],
      { parameters: { grace_seconds: 30 } },
    );
  for (let nth = 0; nth < ROWS; nth++) made.push(await propose(bots['infra-bot']!, restart(nth)));
  // The thresholds make the worst change critical.
  const thresholds = { medium: 30, high: 60, critical: 80 };
  await sam.call('PUT', '/v1/risk/settings', { thresholds }, { 'If-Match': '"0"' });
  const dependents = ['service:checkout', 'service:billing', 'service:support'];
  const ledger = { criticality: 100, environment: 'production', dependents };
  await sam.call('PUT', '/v1/resources/database/ledger', ledger);
  critical = await propose(
    bots['infra-bot']!,
    declared('Drop the ledger', 'data.drop', 'database:ledger', [
      { action: 'remove', summary: 'all of it', irreversible: true },
    ]),
  );
});

const full = `[role="grid"][aria-rowcount="${ROWS + 2}"]`;

it('keeps the filter in the address', async () => {
  const seat = await on.sit('priya', '/inbox');
  const { page } = seat;
  await live(page);
  await page.keyboard.press('/');
  await page.keyboard.type('t-7');
  await page.waitForURL(/q=t-7/);
  await page.locator('[role="grid"][aria-rowcount="2"]').waitFor();
  await page.reload();
  await page.locator('[role="grid"][aria-rowcount="2"]').waitFor();
  await page.getByLabel('Filter', { exact: true }).fill('nothing is called this');
  await page.getByRole('button', { name: /^Clear/ }).click();
  await page.locator(full).waitFor();
  await expectCalm(seat);
});

/** Time from the next click to the request for the list, in milliseconds. */
function askedAfterClick(page: Page): Promise<number> {
  const measure = () =>
    new Promise<number>((resolve) => {
      const real = globalThis.fetch;
      const begin = () => {
        const began = performance.now();
        globalThis.fetch = (asked, more) => {
          const url = asked instanceof Request ? asked.url : `${asked}`;
          if (url.includes('/v1/approvals?')) resolve(performance.now() - began);
          return real(asked, more);
        };
      };
      addEventListener('click', begin, { once: true, capture: true });
    });
  return page.evaluate(measure);
}

it('keeps old rows with their time when the server does not respond', async () => {
  const { page } = await on.sit('priya', '/inbox');
  await live(page);
  await page.locator(full).waitFor();
  await page.route('**/v1/approvals?**', (route) => route.abort());
  on.world.cut(true);
  await page.getByText(/Showing data from \d\d:\d\d:\d\d/).waitFor({ timeout: 30_000 });
  expect(await page.locator(full).count(), 'they are all still there').toBe(1);
  // The connection is still cut; once it is back, the page reloads without the button.
  const asked = askedAfterClick(page);
  await page.getByRole('button', { name: 'Retry' }).click();
  expect(await asked, 'by the click, not by the next look').toBeLessThan(1_000);
  await page.unroute('**/v1/approvals?**');
  on.world.cut(false);
  await page.getByText(/Showing data from/).waitFor({ state: 'detached' });
});

interface AuditEntries {
  readonly items: { readonly leaf: { readonly what: { readonly action: string } } }[];
}

const approvalsOf = async (who: string) => {
  const { items } = await on.world.people.sam.call<AuditEntries>('GET', `/v1/audit?user_id=${who}`);
  return items.filter(({ leaf }) => leaf.what.action === 'task.approve').length;
};

const stateOf = async (id: string) =>
  (await on.world.people.bob.call<TaskNow>('GET', `/v1/tasks/${id}`)).state;

const shownIn = async (page: Page) =>
  (await page.locator('[data-peek]').getAttribute('data-peek'))!;

const armed = (page: Page, state: 'idle' | 'armed') =>
  page.locator(`[data-peek] [data-armed="${state}"]`).waitFor({ state: 'attached' });

/** Presses the key once the preview has been shown long enough for a press to count. */
async function arm(page: Page): Promise<void> {
  await read(page);
  await page.keyboard.press('a');
  await armed(page, 'armed');
}

it('shows the preview, asks for a second press, then approves', async () => {
  const seat = await on.sit('priya', '/inbox?q=t-9');
  const { page } = seat;
  await live(page);
  await page.locator('[data-peek]').waitFor();
  await page.keyboard.press('Space');
  await page.locator('[data-peek]').waitFor({ state: 'detached' });
  await page.keyboard.press('a');
  await page.locator('[data-peek]').waitFor();
  const id = await shownIn(page);
  await arm(page);
  await page.getByText('Press A again to approve rev 1').waitFor();
  expect(await stateOf(id)).toBe('REVIEWING');
  await page.keyboard.press('a');
  await page.getByText(/Receipt leaf_/).waitFor();
  expect(await stateOf(id)).toBe('APPROVED');
  await expectCalm(seat);
});

it('approves only the row on which both presses were made', async () => {
  const seat = await on.sit('marc', '/inbox?q=restart');
  const { page } = seat;
  await live(page);
  await page.locator('[data-peek]').waitFor();
  const before = await approvalsOf(on.world.people.marc.id);
  // Leaving an armed row disarms it; the first press on another row only arms that row.
  const first = await shownIn(page);
  await arm(page);
  await page.keyboard.press('j');
  await page.locator(`[data-peek]:not([data-peek="${first}"])`).waitFor();
  const second = await shownIn(page);
  await page.keyboard.press('a');
  await page.keyboard.press('k');
  await page.locator(`[data-peek="${first}"]`).waitFor();
  await armed(page, 'idle');
  await page.keyboard.press('a');
  expect(await approvalsOf(on.world.people.marc.id)).toBe(before);
  // Escape disarms the row.
  await arm(page);
  await page.keyboard.press('Escape');
  await armed(page, 'idle');
  // Two presses on one row record one vote. The cursor stays, so further presses do nothing.
  const row = await page.locator('[data-cursor]').getAttribute('data-index');
  await arm(page);
  await page.keyboard.press('a');
  await page.locator('[data-peek-state="voted"]').waitFor();
  await page.keyboard.press('a');
  await page.keyboard.press('a');
  expect(await shownIn(page)).toBe(first);
  expect(await page.locator('[data-cursor]').getAttribute('data-index')).toBe(row);
  await page.getByText('You approved revision 1').waitFor();
  expect([await stateOf(first), await stateOf(second)]).toEqual(['APPROVED', 'REVIEWING']);
  expect(await approvalsOf(on.world.people.marc.id)).toBe(before + 1);
  await expectCalm(seat);
});

it('opens the review of a high-risk task instead of approving it from the list', async () => {
  const { bots } = on.world.people;
  const change = [{ action: 'remove', summary: 'the cache', irreversible: true }];
  const lasting = declared('Empty the cache', 'cache.drop', 'worker:billing', change);
  const irreversible = await propose(bots['infra-bot']!, lasting);
  for (const { id, number } of [critical, irreversible]) {
    const { page } = await on.sit('priya', `/inbox?q=t-${number}`);
    await live(page);
    await page.locator(`[data-peek="${id}"]`).waitFor();
    const panel = page.getByRole('complementary', { name: 'Preview' });
    await panel.getByText(/on its review page/).waitFor();
    expect(await panel.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await page.keyboard.press('a');
    await page.waitForURL(`**/tasks/${id}`);
    expect(await stateOf(id)).toBe('REVIEWING');
  }
  expect(
    (
      await on.world.people.bob.call<{ votes: unknown[] }>(
        'GET',
        `/v1/tasks/${irreversible.id}/approvals`,
      )
    ).votes,
  ).toEqual([]);
});

it('sends the ten ready tasks of twelve as one batch, once', async () => {
  const { lena, admin } = on.world.people;
  const { page } = await on.sit('lena', '/inbox');
  await live(page);
  await page.getByText('Drop the ledger').first().waitFor();
  expect(await page.locator('[data-cursor]').innerText(), 'the worst comes first').toContain(
    `T-${critical.number}`,
  );
  await page.keyboard.press('x');
  for (let step = 0; step < 11; step++) await page.keyboard.press('Shift+J');
  await page.getByText('12 selected').waitFor();
  await page.locator('[data-pill="paused"]').waitFor();
  // One of the twelve is cancelled while they are being selected.
  const chosen = page.locator('[role="row"][aria-selected="true"]').last();
  const number = Number(/T-(\d+)/.exec(await chosen.innerText())![1]);
  const task = made.find((one) => one.number === number)!;
  const { version } = await admin.call<TaskNow>('GET', `/v1/tasks/${task.id}`);
  const matching = { 'If-Match': `"${version}"` };
  await admin.call('POST', `/v1/tasks/${task.id}/cancel`, { reason: 'not needed' }, matching);
  const selected = page.getByRole('region', { name: 'Selected' });
  await selected.getByRole('button', { name: 'Approve…' }).click();
  const drawer = page.getByRole('dialog');
  await drawer.getByText(/10 ready, 2 left out/).waitFor();
  await drawer.getByText('critical, review it separately').waitFor();
  await drawer.getByText('already decided').waitFor();
  const send = drawer.getByRole('button', { name: 'Approve 10' });
  expect(await send.getAttribute('aria-disabled'), 'each has to be seen first').toBe('true');
  expect(await drawer.locator('[data-item]').count()).toBe(10);
  for (const item of await drawer.locator('[data-item]').all())
    expect(await item.innerText()).toMatch(/grace_seconds: 30[^]*restart it/);
  await read(page, /^Approve 10$/);
  const before = await approvalsOf(lena.id);
  // The batch is recorded, but the response is lost.
  await page.route(
    '**/v1/approvals/batch',
    async (route) => {
      await route.fetch();
      await route.abort('connectionreset');
    },
    { times: 1 },
  );
  await send.click();
  await drawer.getByText('It is safe to send the batch again').waitFor();
  expect(await approvalsOf(lena.id)).toBe(before + 10);
  await send.click();
  await page.getByText('Approved 10 tasks together').waitFor();
  expect(await approvalsOf(lena.id), 'and nothing more').toBe(before + 10);
});
