import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { declared, propose, sql } from './seed.mjs';
import { eventually } from './stack.mjs';
import type { Person } from './world.mjs';

const on = stage();
const bot = (name: string): Person => on.world.people.bots[name]!;
const small = (title: string) =>
  declared(title, 'service.restart', 'worker:billing', [
    { action: 'change', summary: 'restart it' },
  ]);

it('goes on by looking while its socket is cut, and loses and doubles nothing', async () => {
  const { page } = await on.sit('priya', '/inbox');
  await live(page);
  on.world.cut('priya', true);
  await page.locator('[data-pill="reconnecting"], [data-pill="polling"]').first().waitFor();
  await page.locator('[data-pill="polling"]').waitFor({ timeout: 20_000 });
  await propose(bot('infra-bot'), small('Restart while the page only looks'));
  await page.getByText('Restart while the page only looks').first().waitFor({ timeout: 12_000 });
  on.world.cut('priya', false);
  await page.locator('[data-pill="live"]').waitFor({ timeout: 40_000 });
  // Now in the middle of things: cut and mended while tasks keep coming.
  for (let round = 0; round < 3; round++) {
    const coming = Array.from({ length: 5 }, (_, index) =>
      propose(bot('infra-bot'), small(`Round ${round} task ${index}`)),
    );
    on.world.cut('priya', true);
    on.world.cut('priya', false);
    await Promise.all(coming);
  }
  await page.locator('[data-pill="live"]').waitFor({ timeout: 40_000 });
  const { items } = await on.world.people.priya.call<{ items: { task: { number: number } }[] }>(
    'GET',
    '/v1/approvals?page_size=200',
  );
  await eventually('every task is in the list, once', async () => {
    await page.keyboard.press('.');
    const text = await page.getByRole('grid').innerText();
    const shown = [...text.matchAll(/T-(\d+)/g)].map(([, number]) => Number(number)).sort();
    return JSON.stringify(shown) === JSON.stringify(items.map(({ task }) => task.number).sort());
  });
});

it('bars decisions while the server cannot be reached, and says why', async () => {
  const task = await propose(
    bot('db-migrator'),
    sql('Add a column offline', 'ALTER TABLE customer ADD COLUMN off_1 text'),
  );
  const { page } = await on.sit('priya', `/tasks/${task.id}`);
  await live(page);
  await page.locator('[data-dock="decide"]').waitFor();
  await page.context().setOffline(true);
  await page.locator('[data-pill="offline"]').waitFor();
  const approve = page.getByRole('button', { name: 'Approve rev 1' });
  expect(await approve.getAttribute('aria-disabled')).toBe('true');
  await page.getByText('The server cannot be reached').waitFor();
  await page.keyboard.press('a');
  await page.context().setOffline(false);
  await live(page);
  expect(await approve.getAttribute('aria-disabled')).toBeNull();
});

it('announces what is new and moves nothing under the cursor', async () => {
  for (const name of ['one', 'two', 'three'])
    await propose(bot('infra-bot'), small(`Restart number ${name}`));
  const seat = await on.sit('priya', '/inbox');
  const { page } = seat;
  await live(page);
  await page.getByText('Restart number three').first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const under = page.locator('[data-cursor]');
  const before = { text: await under.innerText(), box: await under.boundingBox() };
  await propose(
    bot('release-agent'),
    declared('Scale checkout to the top', 'deploy.scale', 'service:checkout', [
      { action: 'remove', summary: 'all replicas', irreversible: true },
    ]),
  );
  await page.getByText('1 new').waitFor({ timeout: 1_500 });
  // The strip takes its own room; the row keeps its place in the list.
  expect((await under.innerText()).split('\n')[2]).toBe(before.text.split('\n')[2]);
  await page.keyboard.press('.');
  await page.getByText('Scale checkout to the top').first().waitFor();
  await expectCalm(seat);
});

it('shows a freeze over every page, and that it is over', async () => {
  const sam = await on.sit('sam', '/inbox');
  const priya = await on.sit('priya', '/inbox');
  await live(sam.page);
  const button = priya.page.getByRole('button', { name: /Freeze/ });
  expect(await button.getAttribute('aria-disabled')).toBe('true');
  await sam.page.getByRole('button', { name: /Freeze/ }).click();
  await sam.page.getByLabel('Why').fill('INC-441: checkout is down');
  await sam.page.keyboard.press('Enter');
  await sam.page.getByText(/frozen since/).waitFor();
  await priya.page.getByText(/frozen since/).waitFor({ timeout: 8_000 });
  await sam.page.getByRole('button', { name: 'Unfreeze' }).click();
  await sam.page.getByText(/frozen since/).waitFor({ state: 'detached' });
  await priya.page.getByText(/frozen since/).waitFor({ state: 'detached', timeout: 8_000 });
  await expectCalm(sam);
  await expectCalm(priya);
});
