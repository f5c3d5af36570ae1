// `npm run shots`: audit, policies, overview, settings and an expired session.
import { beforeAll, it } from 'vitest';
import { stage } from './browser';
import { seedTasks } from './seed.mjs';
import { shooting } from './shoot';

const on = stage();
const { shoot, settled, folder } = shooting(on);

const LOOSER = `name: databases-two-eyes
match:
  resource_patterns: ["database:*"]
require:
  - roles: [reviewer]
    min: 1
respond_within: 6h
`;

let policy = '';

beforeAll(async () => {
  const { people } = on.world;
  const tasks = await seedTasks(people);
  const { id, revision, digest } = tasks.scale!;
  const reason = 'checked with the shop team';
  const answer = { revision, digest, reason };
  await people.lena.call('POST', `/v1/tasks/${id}/approve`, answer);
  const body = { document: LOOSER, reason: 'one reviewer is enough for databases' };
  await people.admin.call('POST', '/v1/policies', body);
  const known = await people.sam.call<{ items: { policy_id: string }[] }>('GET', '/v1/policies');
  policy = known.items[0]!.policy_id;
  const hook = { url: 'https://hooks.example.com/ade', events: ['task.*'], label: 'chat' };
  await people.sam.call('POST', '/v1/webhooks', hook);
  const bot = people.bots['release-agent']!;
  await people.sam.call('POST', `/v1/agents/${bot.id}/pause`, { reason: 'a new version' });
});

it('audit', async () => {
  await shoot('audit', 'sam', '/audit', settled);
  await shoot('audit-leaf', 'sam', '/audit', async (page) => {
    await page.locator('[data-cursor]').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.locator('[data-leaf]').waitFor();
  });
});

it('policies', async () => {
  await shoot('policies', 'sam', '/policies', async (page) => {
    await page.getByRole('button', { name: 'Replay…' }).click();
    await page.getByRole('button', { name: 'Replay past tasks' }).click();
    await page.locator('[data-replay]').waitFor();
  });
  await shoot('policy-draft', 'sam', `/policies/new?from=${policy}&version=1`, async (page) => {
    await page.getByLabel('Policy (YAML)').fill(LOOSER);
    await page.getByRole('button', { name: 'Replay past tasks' }).click();
    await page.locator('[data-replay]').waitFor();
  });
});

it('overview', () =>
  shoot('overview', 'sam', '/overview', async (page) => {
    await page.locator('[data-chart] canvas').waitFor();
    await settled(page);
  }));

it('settings', async () => {
  await shoot('tokens', 'sam', '/settings/tokens', settled);
  await shoot('webhooks', 'sam', '/settings/webhooks', async (page) => {
    await page.getByRole('button', { name: 'Send test event' }).click();
    await page.locator('[data-delivery]').first().waitFor();
  });
  await shoot('sessions', 'sam', '/settings/sessions', settled);
  const { sam, priya, marc } = on.world.people;
  const hence = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const duty = (user: string, from: number, to: number) =>
    sam.call('POST', '/v1/on-call', {
      role: 'reviewer',
      user_id: user,
      starts_at: hence(from),
      ends_at: hence(to),
    });
  await duty(priya.id, 0, 7);
  await duty(marc.id, 7, 14);
  await shoot('on-call', 'sam', '/settings/on-call', async (page) => {
    await page.locator('[data-duty]').first().waitFor();
  });
});

it('expired session', async () => {
  const { page } = await on.sit('sam', '/policies/new');
  await page.getByLabel('Policy (YAML)').waitFor();
  await page.route('**/v1/policies/replay', (route) => {
    const body = { code: 'unauthenticated', title: 'Authentication required', status: 401 };
    const next = { message: '' };
    const more = { detail: '', retriable: false, request_id: 'req_x', next_action: next };
    return route.fulfill({ status: 401, json: { ...body, ...more } });
  });
  await page.getByRole('button', { name: 'Replay past tasks' }).click();
  await page.getByRole('alertdialog').getByRole('link').waitFor();
  await page.screenshot({ path: `${folder}/session-ended-light.png` });
});
