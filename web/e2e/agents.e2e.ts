import { expect, it } from 'vitest';
import { expectCalm, live, stage } from './browser';
import { eventually } from './wait.mjs';

const on = stage();

interface Agent {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

it('adds an agent by keyboard and waits for its first heartbeat', async () => {
  const seat = await on.sit('sam', '/agents');
  const { page } = seat;
  await live(page);
  await page.getByRole('button', { name: 'Add agent' }).press('Enter');
  const owner = page.getByLabel('Owner').locator('option', { hasText: 'Bob Okafor' });
  await owner.waitFor({ state: 'attached' });
  await page.getByLabel('Name').focus();
  await page.keyboard.type('edge-bot');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Bob');
  await page.keyboard.press('Tab');
  await page.getByRole('button', { name: 'Next' }).press('Enter');
  await page.getByLabel('Task types this agent can apply').focus();
  await page.keyboard.type('deploy.*');
  await page.keyboard.press('Enter');
  await page.getByLabel('Maximum concurrent tasks').waitFor();
  await page.getByRole('button', { name: 'Back' }).press('Enter');
  expect(
    await page.getByLabel('Task types this agent can apply').inputValue(),
    'going back loses nothing',
  ).toBe('deploy.*');
  await page.getByRole('button', { name: 'Next' }).press('Enter');
  await page.getByLabel('Maximum concurrent tasks').waitFor();
  await page.getByRole('button', { name: 'Next' }).press('Enter');
  await page.getByRole('button', { name: 'Check policies' }).press('Enter');
  await page.getByText(/Approvals needed: 1\. Eligible reviewers: \d/).waitFor();
  await page.getByRole('button', { name: 'Next' }).press('Enter');
  await page.getByRole('button', { name: 'Add agent and create token' }).press('Enter');
  const token = await page.locator('[data-token]').innerText();
  await page.getByText('Waiting for the first heartbeat').waitFor();
  const { items } = await on.world.people.sam.call<{ items: Agent[] }>(
    'GET',
    '/v1/agents?page_size=200',
  );
  const made = items.find(({ name }) => name === 'edge-bot')!;
  const answer = await fetch(`${on.world.stack.url}/v1/agents/${made.id}/heartbeat`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      process_id: 'ags_01k9xq3vb8f2n4s6t7w8y9z0ab',
      lease_ids: [],
      load: 1,
    }),
  });
  expect(answer.status).toBe(200);
  await page.getByText(/Connected \d\d:\d\d:\d\d/).waitFor();
  const stored = await page.evaluate(
    () => JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie,
  );
  expect(stored, 'the token is not stored').not.toContain(token);
  await expectCalm(seat);
});

/** Time without heartbeats after which an agent is late or offline, and the time limit for the page
 *  to show it. */
const LATE_AFTER_S = 31;
const OFFLINE_AFTER_S = 90;
const SHOWN_WITHIN_MS = 5_000;

it('shows a stopped agent within seconds', async () => {
  const bot = on.world.people.bots['docs-writer']!;
  const seat = await on.sit('priya', '/agents?q=docs-writer');
  const { page } = seat;
  await live(page);
  await page.locator('[data-chip="offline"]').waitFor();
  const beat = { process_id: 'ags_01k9xq3vb8f2n4s6t7w8y9z0ac', lease_ids: [], load: 1 };
  await bot.call('POST', `/v1/agents/${bot.id}/heartbeat`, beat);
  await page.locator('[data-chip="active"]').waitFor({ timeout: SHOWN_WITHIN_MS });
  // The agent has stopped sending heartbeats. Its last one is moved back in time, so that the test
  // waits only for the last seconds of the timeout.
  const leftS = 4;
  const passed = (seconds: number) =>
    on.world.stack.record(`
      UPDATE agent_session SET seen_at = seen_at - interval '${seconds} seconds'
       WHERE seen_at IS NOT NULL;
      UPDATE scheduled_job SET at = at - interval '${seconds} seconds'
       WHERE kind = 'watch_agent';`);
  await passed(LATE_AFTER_S);
  await page.locator('[data-chip="late"]').waitFor();
  const since = `SELECT extract(epoch FROM clock_timestamp() - max(seen_at)) FROM agent_session`;
  await passed(OFFLINE_AFTER_S - leftS - Number(await on.world.stack.record(since)));
  const stoppedAt = Date.now();
  const within = leftS * 1_000 + SHOWN_WITHIN_MS - (Date.now() - stoppedAt);
  await page.locator('[data-chip="offline"]').waitFor({ timeout: within });
  console.log(`shown ${Date.now() - stoppedAt - leftS * 1_000} ms after its time was over`);
  await expectCalm(seat);
});

it('lets only operators pause and resume an agent', async () => {
  const bot = on.world.people.bots['infra-bot']!;
  const reader = await on.sit('priya', `/agents/${bot.id}`);
  expect(
    await reader.page.getByRole('button', { name: 'Pause' }).getAttribute('aria-disabled'),
  ).toBe('true');
  const seat = await on.sit('sam', `/agents/${bot.id}`);
  const { page } = seat;
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.locator('[data-chip="paused"]').waitFor();
  await reader.page.locator('[data-chip="paused"]').waitFor({ timeout: 5_000 });
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await expectCalm(seat);
});

it('saves, compares and rolls back configuration versions', async () => {
  const bot = on.world.people.bots['db-migrator']!;
  const seat = await on.sit('sam', `/agents/${bot.id}`);
  const { page } = seat;
  const area = page.getByLabel('Configuration as JSON');
  await area.fill('{ "pace": 5 }');
  await page.getByRole('button', { name: 'Save as version 1' }).click();
  await page.getByRole('button', { name: 'Save as version 2' }).waitFor();
  await area.fill('{ "pace": 50 ');
  await page.getByText('The configuration must be a JSON object.').waitFor();
  await area.fill('{ "pace": 50 }');
  await page.locator('[data-line="add"]').waitFor();
  await page.getByRole('button', { name: 'Save as version 2' }).click();
  await page.locator('[data-version="2"]').getByRole('button', { name: 'Show changes' }).click();
  await page.getByText('pace: 5 → 50').waitFor();
  await page.locator('[data-version="1"]').getByRole('button', { name: 'Roll back to 1' }).click();
  await page.locator('[data-version="3"]').waitFor();
  await eventually('the configuration is the first again', async () => {
    const { config } = await on.world.people.sam.call<{ config: { pace: number } }>(
      'GET',
      `/v1/agents/${bot.id}/config`,
    );
    return config.pace === 5;
  });
  await expectCalm(seat);
});
