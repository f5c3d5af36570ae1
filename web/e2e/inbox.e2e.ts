import { beforeAll, expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { declared, propose, type TaskNow } from './seed.mjs';
import type { Person } from './world.mjs';

const on = stage();
/** `ADE_E2E_ROWS=10000` for the full size; that many take the server some minutes to open. */
const ROWS = Number(process.env.ADE_E2E_ROWS ?? 600);
const ABREAST = 12;

const bot = (name: string): Person => on.world.people.bots[name]!;
const small = (title: string, resource = 'worker:billing') =>
  declared(title, 'service.restart', resource, [{ action: 'change', summary: 'restart it' }]);

let first: TaskNow[] = [];

beforeAll(async () => {
  const numbers = Array.from({ length: ROWS }, (_, index) => index);
  const made: TaskNow[] = [];
  const began = Date.now();
  await Promise.all(
    Array.from({ length: ABREAST }, async () => {
      for (let next = numbers.shift(); next !== undefined; next = numbers.shift()) {
        made.push(await propose(bot('infra-bot'), small(`Restart worker ${next}`)));
      }
    }),
  );
  first = made;
  console.log(`${ROWS} tasks under review in ${Date.now() - began} ms`);
}, 1_200_000);

it('keeps the page small however many rows there are', async () => {
  const seat = await on.sit('priya', '/inbox');
  const { page } = seat;
  await live(page);
  const grid = page.getByRole('grid');
  await page.locator(`[role="grid"][aria-rowcount="${ROWS + 1}"]`).waitFor({ timeout: 120_000 });
  const rows = () => page.getByRole('row').count();
  expect(await rows()).toBeLessThanOrEqual(60);
  const valid = async () => {
    const id = await grid.getAttribute('aria-activedescendant');
    const box = await page.locator(`[id="${id}"]`).boundingBox();
    const frame = await grid.boundingBox();
    expect(box!.y).toBeGreaterThanOrEqual(frame!.y - 1);
    expect(box!.y + box!.height).toBeLessThanOrEqual(frame!.y + frame!.height + 1);
  };
  for (let step = 0; step < 50; step++) await page.keyboard.press('j');
  await valid();
  expect(await rows()).toBeLessThanOrEqual(60);
  await page.keyboard.press('End');
  await page.waitForFunction(
    (last) => document.querySelector('[data-cursor]')?.getAttribute('aria-rowindex') === last,
    String(ROWS + 1),
  );
  await valid();
  expect(await rows()).toBeLessThanOrEqual(60);
  await page.keyboard.press('Home');
  await valid();
  await expectCalm(seat);
});

it('paints within a tenth of a second after a key', async () => {
  const { page } = await on.sit('priya', '/inbox');
  await live(page);
  await page.locator(`[role="grid"][aria-rowcount="${ROWS + 1}"]`).waitFor({ timeout: 120_000 });
  const times = await page.evaluate(async () => {
    const painted = () =>
      new Promise<void>((done) => requestAnimationFrame(() => setTimeout(done)));
    const found: number[] = [];
    for (let step = 0; step < 60; step++) {
      const began = performance.now();
      dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }));
      await painted();
      found.push(performance.now() - began);
    }
    return found.sort((one, other) => one - other);
  });
  const p95 = times[Math.floor(times.length * 0.95)]!;
  console.log(`key to paint: p50 ${times[30]!.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`);
  expect(p95).toBeLessThanOrEqual(100);
});

it('keeps its filter in the address', async () => {
  const seat = await on.sit('priya', '/inbox');
  const { page } = seat;
  await live(page);
  await page.keyboard.press('/');
  await page.keyboard.type('t-7');
  await page.waitForURL(/q=t-7/);
  await page.locator('[role="grid"][aria-rowcount="2"]').waitFor({ timeout: 60_000 });
  await page.reload();
  await page.locator('[role="grid"][aria-rowcount="2"]').waitFor({ timeout: 60_000 });
  await page.getByLabel('Filter').fill('nothing is called this');
  await page.getByRole('button', { name: /^Clear/ }).click();
  await page.locator(`[role="grid"][aria-rowcount="${ROWS + 1}"]`).waitFor();
  await expectCalm(seat);
});

it('first shows what a key would act on, then acts', async () => {
  const seat = await on.sit('priya', '/inbox?q=t-9');
  const { page } = seat;
  await live(page);
  await page.locator('[data-peek]').waitFor({ timeout: 60_000 });
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

it('sends a batch whole or not at all, after showing what the server would say', async () => {
  const decided = first.find(({ number }) => number === 20)!;
  const seat = await on.sit('priya', '/inbox?q=worker');
  const { page } = seat;
  await live(page);
  await page
    .getByText('T-20 ·')
    .waitFor({ timeout: 60_000 })
    .catch(() => undefined);
  await page.keyboard.press('x');
  for (let step = 0; step < 11; step++) await page.keyboard.press('Shift+J');
  await page.getByText('12 selected').waitFor();
  expect(await page.locator('[data-pill="paused"]').count()).toBe(1);
  // One of the twelve is decided elsewhere while they are being selected.
  const chosen = page.locator('[role="row"][aria-selected="true"]').first();
  const number = Number(/T-(\d+)/.exec(await chosen.innerText())![1]);
  const task = first.find((one) => one.number === number)!;
  const { admin } = on.world.people;
  const { version } = await admin.call<TaskNow>('GET', `/v1/tasks/${task.id}`);
  await admin.call(
    'POST',
    `/v1/tasks/${task.id}/cancel`,
    { reason: 'not needed' },
    { 'If-Match': `"${version}"` },
  );
  await page
    .getByRole('region', { name: 'Selected' })
    .getByRole('button', { name: 'Approve…' })
    .click();
  await page.getByText(/11 can go, 1 left out/).waitFor();
  const send = page.getByRole('dialog').getByRole('button', { name: 'Approve 11' });
  expect(await send.getAttribute('aria-disabled'), 'a sample has to be seen first').toBe('true');
  for (const group of await page.locator('details summary').all()) await group.click();
  await send.click();
  await page.getByText('Approved 11 tasks together').waitFor();
  expect(decided).toBeDefined();
  await expectCalm(seat);
});
