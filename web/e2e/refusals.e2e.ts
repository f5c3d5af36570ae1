// Pages request only what their reader may read, so browsing adds no refusals to the audit log.
import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { seedTasks, type TaskNow, type Who } from './seed.mjs';

const on = stage();
let tasks: Record<string, TaskNow> = {};
let policy = '';

interface Refusals {
  readonly items: { readonly id: string }[];
}

const refusals = async () =>
  (await on.world.people.sam.call<Refusals>('GET', '/v1/audit?kind=refusal&page_size=200')).items;

beforeAll(async () => {
  tasks = await seedTasks(on.world.people);
  const { sam } = on.world.people;
  const { items } = await sam.call<{ items: { policy_id: string }[] }>('GET', '/v1/policies');
  policy = items[0]!.policy_id;
  const hook = { url: 'https://hooks.example.com/ade', events: ['task.*'] };
  await sam.call('POST', '/v1/webhooks', hook);
});

/** The addresses to open for the path of each route. */
const PAGES: Record<string, () => readonly string[]> = {
  '/': () => ['/'],
  '/inbox': () => ['/inbox', '/inbox?tab=watching', '/inbox?tab=done'],
  '/tasks': () => ['/tasks'],
  '/locks': () => ['/locks', '/locks?view=all', '/locks?view=deadlocks'],
  '/agents': () => ['/agents', '/agents?view=grid'],
  '/policies': () => ['/policies'],
  '/changes': () => ['/changes'],
  '/audit': () => ['/audit', '/audit?by=usr_x', `/audit?object=${tasks.scale!.id}`],
  '/overview': () => ['/overview'],
  '/after-reviews': () => ['/after-reviews'],
  '/settings': () => ['/settings'],
  '/signed-in': () => ['/signed-in'],
  '/device': () => ['/device'],
  new: () => ['/agents/new', '/policies/new'],
  $id: () => [
    ...Object.values(tasks).map(({ id }) => `/tasks/${id}`),
    `/agents/${on.world.people.bots['infra-bot']!.id}`,
    `/policies/${policy}`,
  ],
  ...Object.fromEntries(
    [
      'tokens',
      'sessions',
      'passkeys',
      'notifications',
      'delegations',
      'on-call',
      'people',
      'freezes',
      'webhooks',
      'events',
    ].map((name) => [name, () => [`/settings/${name}`]]),
  ),
};

it('knows every route', () => {
  const source = readFileSync(new URL('../src/router.tsx', import.meta.url), 'utf8');
  const paths = [...source.matchAll(/^ {2}path: '([^']+)'/gm)].map(([, path]) => path!);
  expect(Object.keys(PAGES).sort()).toEqual([...new Set(paths)].sort());
});

/** Pages are opened in several tabs, because a test mostly waits for each page to settle. */
const TABS = 3;

it.each(['priya', 'bob'] as Who[])(
  'no page that %s opens is refused anything',
  async (who) => {
    const before = await refusals();
    const paths = Object.values(PAGES).flatMap((paths) => paths());
    const refused: string[] = [];
    const open = async (tab: number) => {
      const { page } = await on.sit(who, '/inbox');
      await live(page);
      page.on('response', (response) => {
        if (response.status() === 403) refused.push(`${page.url()}: ${response.url()}`);
      });
      for (const path of paths.filter((_, nth) => nth % TABS === tab)) {
        await page.goto(on.world.home + path, { waitUntil: 'networkidle' });
        await page.locator('h1').first().waitFor({ state: 'attached' });
      }
      await page.close();
    };
    await Promise.all(Array.from({ length: TABS }, (_, tab) => open(tab)));
    expect(refused).toEqual([]);
    expect(await refusals()).toEqual(before);
  },
  180_000,
);

it('hides pages that a reviewer cannot use, and explains them by their address', async () => {
  const seat = await on.sit('priya', '/settings/people');
  const { page } = seat;
  await live(page);
  const links = await page.getByRole('navigation').getByRole('link').allInnerTexts();
  for (const hidden of ['Audit', 'Webhooks', 'Events']) expect(links).not.toContain(hidden);
  for (const [path, words] of [
    ['/audit', 'Only admins and auditors can read the whole audit'],
    ['/settings/webhooks', 'Only admins can see and change webhooks'],
    ['/settings/events', 'Only operators and admins can see how events are delivered'],
  ] as const) {
    await page.goto(on.world.home + path);
    await page.getByText(words).waitFor();
  }
  await expectCalm(seat);
});

it('says of a refused attempt that it was refused, and why', async () => {
  const bob = await on.sit('bob', '/inbox');
  const status = await bob.page.evaluate(async () => {
    const headers = { 'Content-Type': 'application/json', 'X-ADE-Request': '1' };
    const body = JSON.stringify({ scope: 'tenant', reason: 'mine' });
    return (await fetch('/v1/freezes', { method: 'POST', headers, body })).status;
  });
  expect(status).toBe(403);
  const seat = await on.sit('sam', '/audit?kind=refusal');
  const { page } = seat;
  await live(page);
  const row = page.locator('[role="row"][data-index="0"]');
  await row.getByText('Bob Okafor').waitFor();
  const said = await row.innerText();
  expect(said).toMatch(/Refused/);
  expect(said).toMatch(/was not allowed to freeze applies/);
  expect(said).not.toMatch(/froze/);
  await row.click();
  await page.keyboard.press('Enter');
  await page.locator('[data-leaf]').getByText('Why it was refused').waitFor();
  expect(await page.getByRole('dialog').innerText()).toMatch(/was not allowed to freeze applies/);
  await page.keyboard.press('Escape');
  await page.getByLabel('Result').selectOption('change');
  await page.waitForURL(/kind=change/);
  await page.getByText('was not allowed to').waitFor({ state: 'detached' });
  await page.getByLabel('Result').selectOption('');
  await page.getByText('was not allowed to').first().waitFor();
  await expectCalm(seat);
});
