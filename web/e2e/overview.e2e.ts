import { beforeAll, expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { seedTasks } from './seed.mjs';

const on = stage();

beforeAll(() => seedTasks(on.world.people));

interface Overview {
  readonly open_tasks: { readonly state: string; readonly count: number }[];
  readonly pending_approvals: { readonly count: number };
}

it('shows the numbers that the server has counted, and the days as a table too', async () => {
  const seat = await on.sit('sam', '/overview');
  const { page } = seat;
  await live(page);
  const told = await on.world.people.sam.call<Overview>('GET', '/v1/stats/overview');
  const reviewing = told.open_tasks.find(({ state }) => state === 'REVIEWING')!;
  await page
    .locator('[data-tile="tasks in review"]', { hasText: String(reviewing.count) })
    .waitFor();
  await page
    .locator('[data-tile="answers asked for"]', { hasText: String(told.pending_approvals.count) })
    .waitFor();
  await page.locator('[data-chart] canvas').waitFor();
  await page.getByRole('button', { name: 'Table' }).click();
  const today = page.getByRole('row').last();
  await today.getByText(new Date().toISOString().slice(0, 10)).waitFor();
  await page.getByRole('link', { name: /tasks in review/ }).click();
  await page.waitForURL(/\/tasks\?state=REVIEWING/);
  await expectCalm(seat);
});

it('brings what draws only to the page that draws', async () => {
  const { page } = await on.sit('sam', '/inbox');
  await live(page);
  const scripts = () =>
    page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
  expect((await scripts()).filter((name) => /Chart|EditorPage/.test(name))).toEqual([]);
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.locator('[data-chart] canvas').waitFor();
  expect((await scripts()).some((name) => name.includes('Chart'))).toBe(true);
});

it('says on top what does not work', async () => {
  const { page } = await on.sit('sam', '/inbox');
  await page.route('**/v1/status', async (route) => {
    const answer = await route.fetch();
    const degradations = [{ part: 'redis', detail: 'events are told late' }];
    await route.fulfill({
      response: answer,
      json: { ...(await answer.json()), banner: 'Live events are late', degradations },
    });
  });
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.locator('[data-degraded]').getByText('events are told late').waitFor();
});
