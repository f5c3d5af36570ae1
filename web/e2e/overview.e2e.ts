import { beforeAll, expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { seedTasks, type TaskNow } from './seed.mjs';

const on = stage();

let tasks: Record<string, TaskNow> = {};

beforeAll(async () => {
  tasks = await seedTasks(on.world.people);
});

it('shows the server counts, and the days as a table', async () => {
  const day = () => new Date().toISOString().slice(0, 10);
  const begun = day();
  const seat = await on.sit('sam', '/overview');
  const { page } = seat;
  await live(page);
  const counted = (sql: string) => on.world.stack.record(`SELECT count(*) FROM ${sql}`);
  const tile = (word: string) => page.locator(`[data-tile="${word}"] span`).first().innerText();
  await page.locator('[data-tile="Tasks in review"]').waitFor();
  expect(await tile('Tasks in review')).toBe(await counted(`task WHERE state = 'REVIEWING'`));
  expect(await tile('Open review requests')).toBe(
    await counted(`approval WHERE status = 'PENDING'`),
  );
  await page.locator('[data-chart] canvas').waitFor();
  await page.getByRole('button', { name: 'Table' }).click();
  const today = page.getByRole('row').last();
  await today.getByText(new RegExp(`${begun}|${day()}`)).waitFor();
  await page.getByRole('link', { name: /Tasks in review/ }).click();
  await page.waitForURL(/\/tasks\?state=REVIEWING/);
  await expectCalm(seat);
});

it('loads the chart library only on the overview', async () => {
  const { page } = await on.sit('sam', '/inbox');
  await live(page);
  const scripts = () =>
    page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
  expect((await scripts()).filter((name) => /Chart|EditorPage/.test(name))).toEqual([]);
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.locator('[data-chart] canvas').waitFor();
  expect((await scripts()).some((name) => name.includes('Chart'))).toBe(true);
});

it('lists an override until its review is closed', async () => {
  const { sam, admin } = on.world.people;
  const { id } = tasks.secret!;
  const { version, revision, digest } = await sam.call<TaskNow>('GET', `/v1/tasks/${id}`);
  const asked = { ticket: 'INC-441', reason: 'checkout is down' };
  await sam.call('POST', `/v1/tasks/${id}/override`, asked, { 'If-Match': `"${version}"` });
  await admin.call('POST', `/v1/tasks/${id}/override/confirm`, { revision, digest });
  const seat = await on.sit('lena', '/after-reviews');
  const { page } = seat;
  const row = page.locator('[data-owed]', { hasText: 'Rotate the Stripe webhook secret' });
  await row.getByRole('button', { name: 'Close review…' }).click();
  const send = page.getByRole('button', { name: 'Close review', exact: true });
  expect(await send.getAttribute('aria-disabled'), 'a finding is needed').toBe('true');
  await page.getByLabel('Finding').fill('It was right: payments were failing.');
  await send.click();
  await row.waitFor({ state: 'detached' });
  const finding = await on.world.stack.record('SELECT finding FROM after_review');
  expect(finding).toBe('It was right: payments were failing.');
  await expectCalm(seat);
});

it('shows degraded components at the top', async () => {
  const { page } = await on.sit('sam', '/inbox');
  await page.route('**/v1/status', async (route) => {
    const answer = await route.fetch();
    const degradations = [{ part: 'redis', detail: 'events arrive late' }];
    await route.fulfill({
      response: answer,
      json: { ...(await answer.json()), banner: 'Live events are late', degradations },
    });
  });
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.locator('[data-degraded]').getByText('events arrive late').waitFor();
});

it('shows an installation freeze on every page', async () => {
  const { page } = await on.sit('sam', '/inbox');
  const freeze = { number: 1, reason: 'INC-9', set_by: 'root', since: '2026-11-14T14:02:00Z' };
  await page.route('**/v1/status', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), freeze } });
  });
  await page.reload();
  const banner = page.getByRole('alert').filter({ hasText: 'Applies of all tenants frozen' });
  await banner.getByText('INC-9').waitFor();
  expect(await banner.getByRole('button').count(), 'it cannot be lifted here').toBe(0);
});
