import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objections } from './axe';
import { expectCalm, type Seat, type Size, SIZES, stage, type Theme } from './browser';
import { overlaps } from './overlap';
import { seedTasks, type TaskNow, type Who } from './seed.mjs';

const on = stage();
let tasks: Record<string, TaskNow> = {};

beforeAll(async () => {
  tasks = await seedTasks(on.world.people);
  const ends = new Date(Date.now() + 3_600_000).toISOString();
  const incident = { resources: ['service:support'], reason: 'INC-441', ends_at: ends };
  const { sam, priya } = on.world.people;
  await sam.call('POST', '/v1/locks/incidents', incident);
  const duty = { role: 'reviewer', user_id: priya.id, starts_at: new Date().toISOString() };
  await sam.call('POST', '/v1/on-call', { ...duty, ends_at: ends });
});

const PAGES: [name: string, who: Who, path: () => string, ready: string][] = [
  ['inbox', 'priya', () => '/inbox', '[role="grid"]'],
  ['empty inbox', 'bob', () => '/inbox', 'h2'],
  ['filtered empty', 'priya', () => '/inbox?q=nothing', 'h2'],
  ['watching', 'bob', () => '/inbox?tab=watching', '[role="grid"]'],
  ['tasks', 'priya', () => '/tasks', '[role="grid"]'],
  ['review', 'priya', () => `/tasks/${tasks.token!.id}`, '[data-dock="decide"]'],
  ['deception', 'priya', () => `/tasks/${tasks.deceit!.id}`, '[data-dock="decide"]'],
  ['long names', 'priya', () => `/tasks/${tasks.long!.id}`, '[data-dock="decide"]'],
  ['locks', 'sam', () => '/locks?view=all', '[data-lock]'],
  ['one lock', 'sam', () => '/locks?view=all&resource=service:support', '[role="dialog"] form'],
  ['agents', 'sam', () => '/agents', '[data-agent]'],
  ['agent cards', 'sam', () => '/agents?view=grid', '[data-agent]'],
  ['one agent', 'sam', () => `/agents/${on.world.people.bots['infra-bot']!.id}`, 'textarea'],
  ['a new agent', 'sam', () => '/agents/new', 'form'],
  ['audit', 'sam', () => '/audit', '[role="grid"]'],
  ['empty audit', 'sam', () => '/audit?object=nothing', 'h2'],
  ['policies', 'sam', () => '/policies', '[data-policy]'],
  ['a new policy', 'sam', () => '/policies/new', 'textarea'],
  ['no pending changes', 'sam', () => '/changes', 'h2'],
  ['overview', 'sam', () => '/overview', '[data-chart]'],
  ['tokens', 'sam', () => '/settings/tokens', '[data-key]'],
  ['notifications', 'sam', () => '/settings/notifications', 'form'],
  ['delegations', 'sam', () => '/settings/delegations', 'form'],
  ['people', 'sam', () => '/settings/people', '[data-user]'],
  ['on call', 'sam', () => '/settings/on-call', '[data-duty]'],
  ['passkeys', 'sam', () => '/settings/passkeys', 'form'],
  ['owed reviews', 'sam', () => '/after-reviews', 'h1'],
  ['freezes', 'sam', () => '/settings/freezes', 'form'],
  ['webhooks', 'sam', () => '/settings/webhooks', 'form'],
  ['events', 'sam', () => '/settings/events', '[data-consumer]'],
  ['sessions', 'sam', () => '/settings/sessions', '[data-session]'],
  ['own task', 'bob', () => `/tasks/${tasks.scale!.id}`, '[data-dock="author"]'],
];

/** Switches the theme and returns the number of transitions that this has started. */
function switchTheme(page: Page, theme: Theme): Promise<number> {
  return page.evaluate((name) => {
    document.documentElement.dataset.theme = name;
    return document.getAnimations().filter((one) => one instanceof CSSTransition).length;
  }, theme);
}

/** Each page is loaded once per size, with the theme of the system, and then switched. */
const THEMES: [Size, Theme[]][] = [
  ['desktop', ['light', 'dark']],
  ['phone', ['dark', 'light']],
];

describe.each(THEMES)('%s', (size, themes) => {
  describe.each(PAGES)('%s', (_name, who, path, ready) => {
    let seat: Seat;
    beforeAll(async () => {
      seat = await on.sit(who, path(), { theme: themes[0]!, size, motion: 'reduce' });
      await seat.page.locator(ready).first().waitFor();
      await seat.page.locator('[data-pill="live"]').waitFor();
      expect(await seat.page.locator('html').getAttribute('data-theme')).toBe(themes[0]);
    });
    afterAll(() => seat.page.close());
    it.each(themes)('%s has no axe violations', async (theme) => {
      const { page } = seat;
      // With reduced motion, the colours change at once.
      expect(await switchTheme(page, theme)).toBe(0);
      await page.setViewportSize(SIZES[size]);
      const { violations, unsure } = await objections(page);
      expect(violations).toEqual([]);
      expect(unsure.length, unsure.join('\n')).toBeLessThanOrEqual(5);
      expect(await overlaps(page)).toEqual([]);
      await expectCalm(seat);
      if (size === 'phone') {
        // The width of a desktop at 400 % zoom.
        await page.setViewportSize({ width: 320, height: 640 });
        await expectCalm(seat);
      }
    });
  });
});

it('shows all facts for a decision in one viewport', async () => {
  const { page } = await on.sit('priya', `/tasks/${tasks.token!.id}`);
  await page.locator('[data-dock="decide"]').waitFor();
  const risk = page.locator('[data-risk]');
  await risk.getByText(/^mostly /).waitFor();
  const dock = (await page.locator('[data-dock]').boundingBox())!;
  for (const part of ['[data-effect]', '[data-program]', '[data-quorum]', '[data-change]']) {
    const box = (await page.locator(part).first().boundingBox())!;
    expect(box.y + Math.min(box.height, 40), part).toBeLessThan(dock.y);
  }
  await risk.locator('summary').click();
  await page.locator('[data-factors="4"]').waitFor();
  const adds = await page
    .locator('[data-factors] tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) => Number(/\+([\d.]+)/.exec(row.textContent ?? '')?.[1])),
    );
  const score = Number(await page.locator('[data-risk] summary [data-score]').innerText());
  expect(Math.abs(adds.reduce((sum, one) => sum + one, 0) - score)).toBeLessThanOrEqual(1);
});

it('lists shortcuts in the help and lets the reader turn them off', async () => {
  const { page } = await on.sit('priya', '/inbox');
  await page.locator('[data-cursor]').waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog');
  for (const word of ['Approve', 'Next row', 'Show new rows', 'Go to inbox']) {
    await help.getByText(word, { exact: true }).waitFor();
  }
  await help.getByLabel('Single-key shortcuts').uncheck();
  await page.keyboard.press('Escape');
  // For a second after a dialog, single keys do nothing, whatever the setting.
  await page.waitForTimeout(1_100);
  const before = await page.locator('[data-cursor]').getAttribute('aria-rowindex');
  await page.keyboard.press('j');
  expect(await page.locator('[data-cursor]').getAttribute('aria-rowindex')).toBe(before);
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder(/Search tasks by number/).fill('T-7');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/tasks\/task_/);
});

it('shows a not-found page for an unknown address', async () => {
  const { page } = await on.sit('priya', '/nowhere');
  await page.getByText('Page not found').waitFor();
});
