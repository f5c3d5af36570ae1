import { beforeAll, expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { seedTasks, type TaskNow } from './seed.mjs';

const on = stage();

let tasks: Record<string, TaskNow> = {};

beforeAll(async () => {
  tasks = await seedTasks(on.world.people);
});

it('shows the numbers that the server has counted, and the days as a table too', async () => {
  const day = () => new Date().toISOString().slice(0, 10);
  const begun = day();
  const seat = await on.sit('sam', '/overview');
  const { page } = seat;
  await live(page);
  const counted = (sql: string) => on.world.stack.record(`SELECT count(*) FROM ${sql}`);
  const tile = (word: string) => page.locator(`[data-tile="${word}"] span`).first().innerText();
  await page.locator('[data-tile="tasks in review"]').waitFor();
  expect(await tile('tasks in review')).toBe(await counted(`task WHERE state = 'REVIEWING'`));
  expect(await tile('answers asked for')).toBe(await counted(`approval WHERE status = 'PENDING'`));
  await page.locator('[data-chart] canvas').waitFor();
  await page.getByRole('button', { name: 'Table' }).click();
  const today = page.getByRole('row').last();
  await today.getByText(new RegExp(`${begun}|${day()}`)).waitFor();
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

it('lists what was overridden until somebody says what they found', async () => {
  const { sam, admin } = on.world.people;
  const { id } = tasks.secret!;
  const { version, revision, digest } = await sam.call<TaskNow>('GET', `/v1/tasks/${id}`);
  const asked = { ticket: 'INC-441', reason: 'checkout is down' };
  await sam.call('POST', `/v1/tasks/${id}/override`, asked, { 'If-Match': `"${version}"` });
  await admin.call('POST', `/v1/tasks/${id}/override/confirm`, { revision, digest });
  const seat = await on.sit('lena', '/after-reviews');
  const { page } = seat;
  const row = page.locator('[data-owed]', { hasText: 'Rotate the Stripe webhook secret' });
  await row.getByRole('button', { name: 'Close…' }).click();
  const send = page.getByRole('button', { name: 'Close the review' });
  expect(await send.getAttribute('aria-disabled'), 'a finding is needed').toBe('true');
  await page.getByLabel('What was found').fill('It was right: payments were failing.');
  await send.click();
  await row.waitFor({ state: 'detached' });
  const finding = await on.world.stack.record('SELECT finding FROM after_review');
  expect(finding).toBe('It was right: payments were failing.');
  await expectCalm(seat);
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

it('says over every page that all tenants are frozen', async () => {
  const { page } = await on.sit('sam', '/inbox');
  const freeze = { number: 1, reason: 'INC-9', set_by: 'root', since: '2026-11-14T14:02:00Z' };
  await page.route('**/v1/status', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), freeze } });
  });
  await page.reload();
  const banner = page.getByRole('alert').filter({ hasText: 'Applies of all tenants frozen' });
  await banner.getByText('INC-9').waitFor();
  expect(await banner.getByRole('button').count(), 'nobody here can lift it').toBe(0);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});
