import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { declared, propose, type TaskNow } from './seed.mjs';

const on = stage();
const ROWS = 24;

const made: TaskNow[] = [];
let critical: TaskNow;

beforeAll(async () => {
  const { bots, sam } = on.world.people;
  const restart = (nth: number) =>
    declared(`Restart worker ${nth}`, 'service.restart', 'worker:billing', [
      { action: 'change', summary: 'restart it' },
    ]);
  for (let nth = 0; nth < ROWS; nth++) made.push(await propose(bots['infra-bot']!, restart(nth)));
  // What is as bad as can be is critical here, whatever else there is.
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

it('keeps its filter in the address', async () => {
  const seat = await on.sit('priya', '/inbox');
  const { page } = seat;
  await live(page);
  await page.keyboard.press('/');
  await page.keyboard.type('t-7');
  await page.waitForURL(/q=t-7/);
  await page.locator('[role="grid"][aria-rowcount="2"]').waitFor();
  await page.reload();
  await page.locator('[role="grid"][aria-rowcount="2"]').waitFor();
  await page.getByLabel('Filter').fill('nothing is called this');
  await page.getByRole('button', { name: /^Clear/ }).click();
  await page.locator(full).waitFor();
  await expectCalm(seat);
});

/** How long after the next click the page asks for the list, in milliseconds of the page. */
function askedAfterClick(page: Page): Promise<number> {
  const told = () =>
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
  return page.evaluate(told);
}

it('keeps old rows when the server does not answer, and says how old they are', async () => {
  const { page } = await on.sit('priya', '/inbox');
  await live(page);
  await page.locator(full).waitFor();
  await page.route('**/v1/approvals?**', (route) => route.abort());
  on.world.cut(true);
  await page.getByText(/Showing data from \d\d:\d\d:\d\d/).waitFor({ timeout: 30_000 });
  expect(await page.locator(full).count(), 'they are all still there').toBe(1);
  // Before the line is back: then the page asks by itself, and there is nothing left to press.
  const asked = askedAfterClick(page);
  await page.getByRole('button', { name: 'Retry' }).click();
  expect(await asked, 'by the click, not by the next look').toBeLessThan(1_000);
  await page.unroute('**/v1/approvals?**');
  on.world.cut(false);
  await page.getByText(/Showing data from/).waitFor({ state: 'detached' });
});

it('first shows what a key would act on, then acts', async () => {
  const seat = await on.sit('priya', '/inbox?q=t-9');
  const { page } = seat;
  await live(page);
  await page.locator('[data-peek]').waitFor();
  await page.keyboard.press('Space');
  await page.locator('[data-peek]').waitFor({ state: 'detached' });
  await page.keyboard.press('a');
  await page.locator('[data-peek]').waitFor();
  const id = await page.locator('[data-peek]').getAttribute('data-peek');
  const state = async () =>
    (await on.world.people.bob.call<TaskNow>('GET', `/v1/tasks/${id}`)).state;
  expect(await state()).toBe('REVIEWING');
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await page.keyboard.press('a');
  await page.getByText(/Receipt leaf_/).waitFor();
  expect(await state()).toBe('APPROVED');
  await expectCalm(seat);
});

interface Leaves {
  readonly items: { readonly leaf: { readonly what: { readonly action: string } } }[];
}

const approvalsOf = async (who: string) => {
  const { items } = await on.world.people.sam.call<Leaves>('GET', `/v1/audit?user=${who}`);
  return items.filter(({ leaf }) => leaf.what.action === 'task.approve').length;
};

it('sends of twelve the ten that can go, whole, and once', async () => {
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
  // One of the twelve is decided elsewhere while they are being selected.
  const chosen = page.locator('[role="row"][aria-selected="true"]').last();
  const number = Number(/T-(\d+)/.exec(await chosen.innerText())![1]);
  const task = made.find((one) => one.number === number)!;
  const { version } = await admin.call<TaskNow>('GET', `/v1/tasks/${task.id}`);
  const matching = { 'If-Match': `"${version}"` };
  await admin.call('POST', `/v1/tasks/${task.id}/cancel`, { reason: 'not needed' }, matching);
  const selected = page.getByRole('region', { name: 'Selected' });
  await selected.getByRole('button', { name: 'Approve…' }).click();
  const drawer = page.getByRole('dialog');
  await drawer.getByText(/10 can go, 2 left out/).waitFor();
  await drawer.getByText('critical: open it').waitFor();
  await drawer.getByText('already decided').waitFor();
  const send = drawer.getByRole('button', { name: 'Approve 10' });
  expect(await send.getAttribute('aria-disabled'), 'a sample has to be seen first').toBe('true');
  for (const group of await drawer.locator('details summary').all()) await group.click();
  const before = await approvalsOf(lena.id);
  // It is recorded, but the answer gets lost.
  await page.route(
    '**/v1/approvals/batch',
    async (route) => {
      await route.fetch();
      await route.abort('connectionreset');
    },
    { times: 1 },
  );
  await send.click();
  await drawer.getByText('Sending it again cannot count twice').waitFor();
  expect(await approvalsOf(lena.id)).toBe(before + 10);
  await send.click();
  await page.getByText('Approved 10 tasks together').waitFor();
  expect(await approvalsOf(lena.id), 'and nothing more').toBe(before + 10);
});
