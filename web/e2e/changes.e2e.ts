// A change to the rules that makes approvals easier waits until another admin publishes it.
import { beforeAll, expect, it } from 'vitest';
import { expectCalm, live, type Seat, stage } from './browser';
import { NORA, nora as secondAdmin } from './second-admin';

const on = stage();

interface Settings {
  readonly version: number;
  readonly thresholds: {
    readonly medium: number;
    readonly high: number;
    readonly critical: number;
  };
}
interface Audited {
  readonly items: { readonly leaf: { readonly what: { readonly action: string } } }[];
}

const settings = () => on.world.people.sam.call<Settings>('GET', '/v1/risk/settings');

let nora: Seat;
let noraId = '';

beforeAll(async () => {
  // Sam is the only admin who has signed in, so the tenant is in setup until Nora does.
  ({ seat: nora, id: noraId } = await secondAdmin(on));
});

it('puts a higher threshold in force only when another admin publishes it', async () => {
  const { version, thresholds: before } = await settings();
  const thresholds = { ...before, high: before.high + 10 };
  const change = { thresholds, reason: 'too many tasks are high' };
  const matching = { 'If-Match': `"${version}"` };
  const { sam } = on.world.people;
  await sam.call('PUT', '/v1/risk/settings', change, matching);
  expect((await settings()).thresholds, 'it waits').toEqual(before);

  const seat = await on.sit('sam', '/changes');
  const mine = seat.page.getByRole('region', { name: 'Change the risk settings' });
  const finding = `HIGH begins at ${thresholds.high} points instead of ${before.high}`;
  await mine.getByText(finding).waitFor();
  await mine.locator('[data-chip="looser"]').waitFor();
  await mine.getByText('too many tasks are high').waitFor();
  await mine.getByText('waits for a second admin').waitFor();
  await mine.getByText('Another admin must publish it.').waitFor();
  const publish = { name: 'Publish', exact: true };
  expect(await mine.getByRole('button', publish).getAttribute('aria-disabled')).toBe('true');
  expect(await mine.getByRole('button', { name: 'Object…' }).count()).toBe(0);
  await seat.page.getByRole('link', { name: /Changes\s*1\s*open/ }).waitFor();

  const reviewer = await on.sit('priya', '/changes');
  const seen = reviewer.page.getByRole('region', { name: 'Change the risk settings' });
  await seen.getByText('Only admins can do this.').waitFor();
  expect(await seen.getByRole('button', publish).getAttribute('aria-disabled')).toBe('true');

  await live(seat.page);
  await nora.page.goto(`${on.world.home}/changes`);
  await live(nora.page);
  const theirs = nora.page.getByRole('region', { name: 'Change the risk settings' });
  await theirs.getByText('Sam Ortiz').waitFor();
  await theirs.getByRole('button', publish).click();
  await nora.page.getByText('Published: Change the risk settings').waitFor();
  await nora.page.getByRole('heading', { name: 'No pending changes' }).waitFor();
  expect((await settings()).thresholds).toEqual(thresholds);

  // An event updates the page of the proposer.
  await seat.page.getByRole('heading', { name: 'No pending changes' }).waitFor();
  await seat.page.getByRole('button', { name: 'Closed changes' }).click();
  const closed = seat.page.locator('[data-closed="published"]');
  await closed.getByText(`Published by ${NORA}`).waitFor();
  for (const one of [seat, reviewer, nora]) await expectCalm(one);
});

it('shows that new roles wait, and withdraws them', async () => {
  const seat = await on.sit('sam', '/settings/people');
  const { page } = seat;
  await live(page);
  const marc = page.locator('[data-user="Marc Dubois"]');
  await marc.getByRole('button', { name: 'Roles…' }).click();
  await page.getByLabel('Roles of Marc Dubois').fill('reviewer author');
  await page.getByRole('button', { name: 'Save roles' }).click();
  await page.getByText('Proposed: waits for a second admin').waitFor();
  await marc.locator('[data-proposed="user.roles"]').getByRole('link').waitFor();
  expect(await page.getByLabel('Roles of Marc Dubois').count(), 'the form is closed').toBe(0);
  await marc.getByText('reviewer', { exact: true }).waitFor();

  await page.getByRole('link', { name: 'Pending changes', exact: true }).click();
  await page.waitForURL('**/changes');
  const card = page.getByRole('region', { name: 'Change the roles of Marc Dubois' });
  await card.getByText('Marc Dubois gets the role author').waitFor();
  await card.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByRole('heading', { name: 'No pending changes' }).waitFor();
  await page.getByRole('button', { name: 'Closed changes' }).click();
  await page.locator('[data-closed="withdrawn"]', { hasText: 'Withdrawn by Sam Ortiz' }).waitFor();

  await page.goto(`${on.world.home}/settings/people`);
  await marc.getByText('reviewer', { exact: true }).waitFor();
  await page.locator('[data-setup]').waitFor({ state: 'detached' });
  expect(await page.locator('[data-proposed]').count()).toBe(0);
  await expectCalm(seat);
});

it('records each step, and which changes needed no second admin', async () => {
  const { items } = await on.world.people.sam.call<Audited>('GET', '/v1/audit?page_size=50');
  const actions = items.map(({ leaf }) => leaf.what.action);
  const steps = ['tenant.end_setup', 'change.propose', 'change.publish', 'change.withdraw'];
  expect(actions).toEqual(expect.arrayContaining(steps));
  const seat = await on.sit('sam', `/audit?object=${noraId}`);
  const { page } = seat;
  await page.getByRole('row', { name: /added/ }).getByText('in setup').waitFor();
  await page.goto(`${on.world.home}/audit`);
  await page.getByText('ended the setup of the tenant').waitFor();
  await page.getByText(/withdrew/).waitFor();
  await expectCalm(seat);
});
