import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { nora } from './second-admin';
import { propose, sql } from './seed.mjs';

const on = stage();

const looser = `name: databases-two-eyes
match:
  resource_patterns: ["database:*"]
require:
  - roles: [reviewer]
    min: 1
respond_within: 6h
`;

interface Draft {
  readonly id: string;
}
interface Policies {
  readonly items: { readonly policy_id: string; readonly name: string; readonly version: number }[];
}

const databases = async () => {
  const { items } = await on.world.people.sam.call<Policies>('GET', '/v1/policies');
  return items.find(({ name }) => name === 'databases-two-eyes')!;
};

it('replays past tasks against a draft and reports its errors', async () => {
  const add = 'ALTER TABLE customer ADD COLUMN zip text';
  await propose(on.world.people.bots['db-migrator']!, sql('Add a column', add));
  const { policy_id: policy } = await databases();
  const seat = await on.sit('sam', `/policies/${policy}`);
  const { page } = seat;
  await live(page);
  await page.getByRole('button', { name: 'Propose version 2' }).click();
  const area = page.getByLabel('Policy (YAML)');
  await area.fill(looser);
  await page.getByRole('button', { name: 'Replay past tasks' }).click();
  await page.locator('[data-chip="looser"]', { hasText: '1 looser' }).waitFor();
  await area.fill(looser.replace('min: 1', 'min: 3'));
  await page.getByText('The policy was edited').waitFor();
  await page.getByRole('button', { name: 'Replay past tasks' }).click();
  await page.locator('[data-chip="stricter"]', { hasText: '1 stricter' }).waitFor();
  await expectCalm(seat);
  await area.fill('nme: oops');
  await page.getByRole('button', { name: 'Propose policy', exact: true }).click();
  await page.locator('[data-refusal="invalid_policy"]').getByText('Line 1').first().waitFor();
});

it('lets the only admin who has signed in publish at once in setup', async () => {
  const { page } = await on.sit('sam', '/policies/new');
  const scratch =
    'name: scratch\nmatch:\n  resource_patterns: ["scratch:*"]\nrequire:\n  - roles: [dba]\n';
  await page.getByLabel('Policy (YAML)').fill(scratch);
  await page.getByRole('button', { name: 'Propose policy', exact: true }).click();
  await page.getByText('Proposed scratch. You can publish it.').waitFor();
  const mine = page.locator('[data-draft]');
  await mine.getByText('It takes effect at once.').waitFor();
  await mine.getByRole('button', { name: 'Publish' }).click();
  const version = page.locator('[data-policy="scratch"]', { hasText: 'version 1' });
  await version.getByText('published it without a second admin').waitFor();
});

it('lets one admin propose and only another publish', async () => {
  await nora(on);
  const { policy_id: policy } = await databases();
  const seat = await on.sit('sam', `/policies/new?from=${policy}&version=1`);
  const { page } = seat;
  await page.getByLabel('Policy (YAML)').fill(looser);
  await page.getByLabel('Reason').fill('one is enough');
  await page.getByRole('button', { name: 'Propose policy', exact: true }).click();
  const mine = page.locator('[data-draft]');
  await mine.getByText('require[0].min: 2 → 1').waitFor();
  await mine.getByText('Another admin must publish it').waitFor();
  const publish = mine.getByRole('button', { name: 'Publish' });
  expect(await publish.getAttribute('aria-disabled')).toBe('true');
  await mine.getByRole('button', { name: 'Withdraw' }).click();
  await mine.waitFor({ state: 'detached' });
  const body = { document: looser, reason: 'one is enough' };
  await on.world.people.admin.call<Draft>('POST', '/v1/policies', body);
  await page.reload();
  await page.locator('[data-draft]').getByRole('button', { name: 'Publish' }).click();
  await page.locator('[data-policy="databases-two-eyes"]', { hasText: 'version 2' }).waitFor();
  expect((await databases()).version).toBe(2);
  await page.getByRole('link', { name: 'databases-two-eyes' }).click();
  await page.locator('[data-version="2"]').getByRole('button', { name: 'Show changes' }).click();
  await page.locator('[data-line="del"]').first().waitFor();
  await expectCalm(seat);
});

it('explains to non-admins why they can only read', async () => {
  const { page } = await on.sit('priya', '/policies');
  const propose = page.getByRole('button', { name: 'Propose policy' });
  expect(await propose.getAttribute('aria-disabled')).toBe('true');
  expect(await propose.getAttribute('title')).toBe('Only admins can do this.');
});
