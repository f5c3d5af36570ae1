// `npm run shots`: screenshots for the documentation, from real pages with real data.
import { beforeAll, expect, it } from 'vitest';
import { stage } from './browser';
import { shooting } from './shoot';
import { amend, declared, propose, seedTasks, sql, type TaskNow } from './seed.mjs';

const on = stage();
let tasks: Record<string, TaskNow> = {};

async function vote(who: 'priya' | 'lena' | 'marc', task: TaskNow): Promise<void> {
  const { call } = on.world.people[who];
  const body = {
    revision: task.revision,
    digest: task.digest,
    reason: 'checked with the shop team',
  };
  await call('POST', `/v1/tasks/${task.id}/approve`, body);
}

beforeAll(async () => {
  const { people } = on.world;
  const expires = new Date(Date.now() + 3 * 86_400_000).toISOString();
  const delegation = { delegate_id: people.priya.id, kind: 'follow', expires_at: expires };
  await people.marc.call('POST', '/v1/delegations', delegation);
  tasks = await seedTasks(people);
  const more = [
    ['Purge the cache of the shop', 'cache.purge', 'site:docs', 'empty /assets/*'],
    [
      'Turn on the new checkout for everybody',
      'flag.change',
      'service:checkout',
      'new-checkout 50 % to 100 %',
    ],
    [
      'Refund 212 purchases that were charged twice',
      'data.fix',
      'service:billing',
      'refund 212 purchases',
    ],
    [
      'Renew the certificate of support',
      'cert.renew',
      'service:support',
      'a new certificate until March',
    ],
  ] as const;
  for (const [title, type, resource, summary] of more) {
    await propose(
      people.bots['infra-bot']!,
      declared(title, type, resource, [{ action: 'change', summary }]),
    );
  }
  await vote('lena', tasks.token!);
  tasks.twice = await propose(
    people.bots['db-migrator']!,
    sql('Index purchases by customer', 'CREATE INDEX purchase_customer ON purchase (customer)'),
  );
  await vote('lena', tasks.twice);
});

const { shoot, THEMES, SIZES, settled, folder } = shooting(on);

it('inbox', () =>
  shoot('inbox', 'priya', '/inbox', async (page) => {
    await page.getByText('0 of 2').first().waitFor();
    await settled(page);
  }));

it('review', () =>
  shoot('review', 'priya', `/tasks/${tasks.token!.id}`, async (page) => {
    await page.locator('[data-quorum]').waitFor();
    await page.locator('[data-risk] summary').waitFor();
    await settled(page);
  }));

it('deception', () =>
  shoot('deception', 'priya', `/tasks/${tasks.deceit!.id}`, async (page) => {
    await page.locator('[data-quorum]').waitFor();
    await settled(page);
  }));

it('batch', () =>
  shoot('batch', 'priya', '/inbox?q=type:s*e*', async (page) => {
    await page.locator('[data-cursor]').waitFor();
    await page.keyboard.press('Control+a');
    await page.getByRole('button', { name: 'Approve…' }).click();
    await page.locator('[data-preflight="judged"]').waitFor();
    await page.locator('[data-item]').first().waitFor();
  }));

it('help', () =>
  shoot('keys', 'priya', '/inbox', async (page) => {
    await page.locator('[data-cursor]').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
  }));

it('empty', () =>
  shoot('empty', 'bob', '/inbox', async (page) => {
    await page.getByText('Your inbox is empty').waitFor();
  }));

it('tasks', () => shoot('tasks', 'priya', '/tasks', settled));

it('locks', async () => {
  const { bots } = on.world.people;
  const want = (name: string, ids: string[], more = {}) => {
    const resources = ids.map((id) => `service:${id}`);
    const body = { resources, ttl_seconds: 120, fenced: true, ...more };
    return bots[name]!.call<{ process_id: string }>('POST', '/v1/locks/acquire', body);
  };
  const held = await want('infra-bot', ['checkout']);
  const other = await want('release-agent', ['billing']);
  const { process_id } = other;
  const waits = [
    want('release-agent', ['checkout'], { process_id, wait: '55s' }),
    want('db-migrator', ['checkout'], { wait: '55s' }),
    want('docs-writer', ['billing'], { wait: '55s' }),
    want('support-agent', ['billing'], { wait: '55s' }),
  ].map((wait) => wait.catch(() => undefined));
  await shoot('locks', 'sam', '/locks', async (page) => {
    await page.locator('[data-root="4"]').waitFor();
  });
  const { page } = await on.sit('sam', '/locks', { theme: 'light' });
  await page.getByRole('button', { name: 'Show as graph' }).click();
  await page.screenshot({ path: `${folder}/locks-graph-light.png` });
  await page.goto(`${on.world.home}/locks?resource=service:checkout`);
  await page.locator('[data-queue] li').first().waitFor();
  await page.screenshot({ path: `${folder}/lock-light.png` });
  expect(held.process_id).not.toBe('');
  await Promise.all(waits);
});

it('agents', async () => {
  const { bots } = on.world.people;
  const beat = (name: string, id: string, load: number) =>
    bots[name]!.call('POST', `/v1/agents/${bots[name]!.id}/heartbeat`, {
      process_id: id,
      lease_ids: [],
      load,
    });
  await beat('infra-bot', 'ags_01k9xq3vb8f2n4s6t7w8y9z0ab', 3);
  await beat('db-migrator', 'ags_01k9xq3vb8f2n4s6t7w8y9z0ac', 1);
  await on.world.people.sam.call('POST', `/v1/agents/${bots['release-agent']!.id}/pause`, {
    reason: 'a new version',
  });
  const { id } = bots['infra-bot']!;
  const put = (config: unknown, version: number) =>
    on.world.people.sam.call(
      'PUT',
      `/v1/agents/${id}/config`,
      { config, reason: 'first steps' },
      { 'If-Match': `"${version}"` },
    );
  await put({ pace: 5, regions: ['eu'] }, 0);
  await put({ pace: 50, regions: ['eu'] }, 1);
  await shoot('agents', 'sam', '/agents?view=grid', settled);
  await shoot('agent', 'sam', `/agents/${id}`, async (page) => {
    await page.locator('[data-version="1"]').waitFor();
  });
});

it('login', async () => {
  for (const theme of THEMES) {
    const { page } = await on.sit('anonymous', '/inbox', { theme });
    await page.getByText('Sign in with').waitFor();
    await page.screenshot({ path: `${folder}/login-${theme}.png` });
    await page.close();
  }
});

it('replaced', async () => {
  const task = tasks.twice!;
  for (const theme of THEMES) {
    const { page } = await on.sit('priya', `/tasks/${task.id}`, { theme });
    await page.locator('[data-dock="decide"], [data-dock="replaced"]').first().waitFor();
    const now = await on.world.people.priya.call<TaskNow>('GET', `/v1/tasks/${task.id}`);
    const text = `CREATE INDEX purchase_customer_${now.revision} ON purchase (customer, amount)`;
    await amend(on.world.people.bots['db-migrator']!, task.id, {
      parameters: { target: 'shop', sql: text },
    });
    await page.locator('[data-dock="replaced"]').waitFor();
    await page.screenshot({ path: `${folder}/replaced-${theme}.png` });
    await page.keyboard.press('v');
    await page.getByText(/lines differ/).waitFor();
    await page.screenshot({ path: `${folder}/compared-${theme}.png` });
    await page.close();
  }
});

it('frozen', async () => {
  const freeze = { scope: 'tenant', reason: 'INC-441: checkout is down' };
  const made = await on.world.people.sam.call<{ id: string }>('POST', '/v1/freezes', freeze);
  for (const size of SIZES) {
    const { page } = await on.sit('sam', '/inbox', { size });
    await page.getByText(/frozen since/).waitFor();
    await page.screenshot({ path: `${folder}/frozen-${size}.png` });
    await page.close();
  }
  await on.world.people.sam.call('DELETE', `/v1/freezes/${made.id}`);
});
