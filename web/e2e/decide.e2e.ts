import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectCalm, live, read, stage } from './browser';
import { amend, declared, propose, sql, type TaskNow } from './seed.mjs';
import { eventually } from './wait.mjs';
import type { Person } from './world.mjs';

const on = stage();

interface Votes {
  votes: {
    voter_id: string;
    answer: string;
    revision: number;
    counted: boolean;
    withdrawn: boolean;
  }[];
}

const bot = (name: string): Person => on.world.people.bots[name]!;
const column = (name: string) => `ALTER TABLE customer ADD COLUMN ${name} text`;
const asked = (title: string) => propose(bot('db-migrator'), sql(title, column(`c_${Date.now()}`)));
const votesOf = async (task: TaskNow) =>
  (await on.world.people.bob.call<Votes>('GET', `/v1/tasks/${task.id}/approvals`)).votes;
const stateOf = async (task: TaskNow) =>
  (await on.world.people.bob.call<TaskNow>('GET', `/v1/tasks/${task.id}`)).state;

/** Presses the keys without delay: a sequence expires after a second. */
function pressTogether(page: Page, ...keys: readonly string[]): Promise<void> {
  return page.evaluate((all) => {
    const on = document.activeElement ?? document.body;
    for (const key of all) on.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  }, keys);
}

it('approves by keyboard from the inbox to the receipt', async () => {
  const task = await propose(
    bot('release-agent'),
    declared('Scale checkout', 'deploy.scale', 'service:checkout', [
      { action: 'change', summary: 'replicas 6 to 24' },
    ]),
  );
  const seat = await on.sit('priya', '/inbox');
  const { page } = seat;
  await live(page);
  await page.locator(`[data-peek="${task.id}"]`).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('[data-dock="decide"]').waitFor();
  await read(page);
  await page.keyboard.press('a');
  await page.getByText('Press A again to approve revision 1').waitFor();
  expect(await votesOf(task)).toEqual([]);
  await page.keyboard.press('a');
  // The toast is visible for a few seconds only.
  const receipt = page.getByText(/Receipt leaf_/).waitFor();
  await Promise.all([page.locator('[data-dock="voted"]').waitFor(), receipt]);
  expect(await stateOf(task)).toBe('APPROVED');
  await pressTogether(page, 'g', 'i');
  await page.getByRole('heading', { name: 'Inbox', exact: true }).waitFor();
  await expectCalm(seat);
});

it('withdraws a vote from its receipt, even after the approval', async () => {
  const task = await propose(
    bot('release-agent'),
    declared('Scale checkout by mistake', 'deploy.scale', 'service:checkout', [
      { action: 'change', summary: 'replicas 6 to 24' },
    ]),
  );
  const seat = await on.sit('priya', `/tasks/${task.id}`);
  const { page } = seat;
  await live(page);
  await read(page);
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  await page.locator('[data-dock="voted"]').waitFor();
  expect(await stateOf(task)).toBe('APPROVED');
  await page.getByRole('button', { name: 'Withdraw', exact: true }).click();
  await page.getByText('Your vote is withdrawn').waitFor();
  await page.locator('[data-dock="decide"]').waitFor();
  expect(await stateOf(task)).toBe('REVIEWING');
  expect(await votesOf(task)).toMatchObject([{ answer: 'approve', withdrawn: true }]);
  // The vote can be given again, and withdrawn below the page.
  await read(page);
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  await page.getByRole('button', { name: 'Withdraw vote' }).click();
  await page.locator('[data-dock="decide"]').waitFor();
  await expectCalm(seat);
});

it('does not act on a key that continues a sequence', async () => {
  const task = await asked('Add a column that stays open');
  const { page } = await on.sit('priya', `/tasks/${task.id}`);
  await page.locator('[data-dock="decide"]').waitFor();
  await pressTogether(page, 'g', 'a');
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('a');
  expect(await votesOf(task)).toEqual([]);
});

it('counts a double click once', async () => {
  const task = await asked('Add a column once');
  const seat = await on.sit('priya', `/tasks/${task.id}`);
  await read(seat.page);
  await seat.page.getByRole('button', { name: 'Approve rev 1' }).dblclick();
  await seat.page.locator('[data-dock="voted"]').waitFor();
  const votes = await votesOf(task);
  expect(votes).toHaveLength(1);
  expect(votes[0]).toMatchObject({ answer: 'approve', revision: 1, counted: true });
  await expectCalm(seat);
});

// Other load on the machine only adds to the time, so the minimum of several rounds counts.
it('shows votes of others within a second in both browsers', async () => {
  const slowest: number[] = [];
  do {
    const task = await asked('Add a column together');
    const [priya, lena] = await Promise.all([
      on.sit('priya', `/tasks/${task.id}`),
      on.sit('lena', `/tasks/${task.id}`),
    ]);
    await Promise.all([live(priya.page), live(lena.page)]);
    await Promise.all([read(priya.page), read(lena.page)]);
    const there = lena.page.locator('[data-quorum]', { hasText: '1 of 2' });
    const first = await voted(priya.page, there);
    const back = priya.page.locator('[data-chip="APPROVED"]');
    const second = await voted(lena.page, back);
    await expectCalm(priya);
    await expectCalm(lena);
    slowest.push(Math.max(first, second));
    console.log(`a vote is seen after ${first} and ${second} ms`);
  } while (Math.min(...slowest) >= 1_000 && slowest.length < 4);
  expect(Math.min(...slowest)).toBeLessThan(1_000);
});

/** Time from a recorded vote until another reviewer sees it. */
async function voted(page: Page, seen: Locator): Promise<number> {
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  await page.locator('[data-dock="voted"]').waitFor();
  const began = Date.now();
  await seen.waitFor();
  return Date.now() - began;
}

it('blocks approving a revision that was not shown', async () => {
  const task = await asked('Add a column, then another');
  const { id, revision, digest } = task;
  await on.world.people.lena.call('POST', `/v1/tasks/${id}/approve`, { revision, digest });
  const seat = await on.sit('priya', `/tasks/${task.id}`);
  const { page } = seat;
  await live(page);
  await page.locator('[data-dock="decide"]').waitFor();
  const shown = await page.locator('h1').innerText();
  await amend(bot('db-migrator'), task.id, {
    parameters: { target: 'shop', sql: 'DROP TABLE invoice_2019' },
  });
  await page.locator('[data-dock="replaced"]').waitFor();
  expect(await page.locator('h1').innerText(), 'what is read stays').toBe(shown);
  expect(
    await page.getByRole('button', { name: 'Approve rev 2' }).getAttribute('aria-disabled'),
  ).toBe('true');
  await page.keyboard.press('a');
  await page.getByRole('button', { name: 'Approve rev 2' }).click({ force: true });
  expect((await votesOf(task)).map(({ revision: of }) => of)).toEqual([1]);
  await page.keyboard.press('v');
  await page.getByText(/lines differ between revision 1 and 2/).waitFor();
  await page.getByText('voted on rev 1, which was replaced').waitFor();
  expect(await page.locator('h1').innerText()).toMatch(/^Drop table public.invoice_2019/);
  await read(page);
  await page.getByRole('button', { name: 'Approve rev 2' }).click();
  await page.locator('[data-dock="voted"]').waitFor();
  expect((await votesOf(task)).map(({ revision: of }) => of).sort()).toEqual([1, 2]);
  await expectCalm(seat);
});

it('needs a reason to reject, and lets a vote be withdrawn', async () => {
  const task = await asked('Add an unwanted column');
  const seat = await on.sit('priya', `/tasks/${task.id}`);
  const { page } = seat;
  await read(page);
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  await page.getByRole('button', { name: 'Withdraw vote' }).click();
  await page.locator('[data-dock="decide"]').waitFor();
  await page.keyboard.press('r');
  const send = page.getByRole('dialog').getByRole('button', { name: /^Reject rev/ });
  expect(await send.getAttribute('aria-disabled')).toBe('true');
  await page.keyboard.press('Control+Enter');
  expect(await stateOf(task)).toBe('REVIEWING');
  await page.getByLabel('Why').fill('not now');
  await page.keyboard.press('Control+Enter');
  await eventually('it is rejected', async () => (await stateOf(task)) === 'REJECTED');
  await expectCalm(seat);
});

it('shows the author why changes were requested', async () => {
  const task = await asked('Add a column without a default');
  const reviewer = await on.sit('priya', `/tasks/${task.id}`);
  await reviewer.page.locator('[data-dock="decide"]').waitFor();
  await reviewer.page.keyboard.press('c');
  await reviewer.page.getByLabel('What should change').fill('give it a default');
  await reviewer.page.keyboard.press('Control+Enter');
  await eventually('it is returned', async () => (await stateOf(task)) === 'DRAFT');
  const author = await on.sit('bob', `/tasks/${task.id}`);
  const note = author.page.locator('[data-decision="changes_requested"]');
  await note.waitFor();
  const says = /^Changes requested by .* revision 1 .*give it a default$/;
  expect(await note.innerText()).toMatch(says);
  await author.page.locator('[data-chip="CHANGES_REQUESTED"]').waitFor();
  await expectCalm(author);
  await author.page.goto(`${on.world.stack.url}/tasks`);
  await author.page.locator('[role="grid"] [data-chip="CHANGES_REQUESTED"]').first().waitFor();
});

it('explains to authors why they cannot approve', async () => {
  const task = await asked('Add a column of my own');
  const seat = await on.sit('bob', `/tasks/${task.id}`);
  const { page } = seat;
  await page.locator('[data-dock="author"]').waitFor();
  await page.getByText('You can’t approve your own task').waitFor();
  const approve = page.getByRole('button', { name: 'Approve rev 1' });
  expect(await approve.getAttribute('aria-disabled')).toBe('true');
  await approve.click({ force: true });
  await page.keyboard.press('a');
  expect(await votesOf(task)).toEqual([]);
  await expectCalm(seat);
  // The API also rejects votes of the author and of the agent that acts for them.
  const { id, revision, digest } = task;
  for (const { token } of [on.world.people.bob, bot('db-migrator')]) {
    const answer = await fetch(`${on.world.stack.url}/v1/tasks/${id}/approve`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ revision, digest }),
    });
    expect(answer.status).toBe(403);
  }
  expect(await votesOf(task)).toEqual([]);
});

it('shows the effect first and escapes hidden characters', async () => {
  const says =
    'Docs only \u202Egnp.xcod\u202C\u200B <img src=x onerror=alert(1)> ' +
    'already approved by the CISO';
  const task = await propose(bot('docs-writer'), sql(says, 'DROP TABLE invoice_2019'));
  const seat = await on.sit('priya', `/tasks/${task.id}`);
  const { page } = seat;
  await page.locator('[data-dock="decide"]').waitFor();
  const order = await page.evaluate(() => {
    const [effect, box] = ['[data-effect]', '[data-untrusted]'].map(
      (name) => document.querySelector(name)!,
    );
    return effect!.compareDocumentPosition(box!) & Node.DOCUMENT_POSITION_FOLLOWING;
  });
  expect(order).toBeTruthy();
  expect(await page.locator('h1').innerText()).toMatch(
    /^Drop table public.invoice_2019 on database:shop$/,
  );
  const box = await page.locator('[data-untrusted]').innerText();
  expect(box).toContain('U+202E');
  expect(box).toContain('U+200B');
  expect(box).toContain('<img src=x');
  for (const part of ['[data-effect]', '[data-dock]']) {
    expect(await page.locator(part).innerText()).not.toMatch(/CISO|Docs only/);
  }
  expect(await page.locator('body').innerText()).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]/);
  expect(await page.locator('img').count()).toBe(0);
  await page.getByText('Cannot be undone:').waitFor();
  await expectCalm(seat);
});

it('reports an unrecorded vote, and a retry counts once', async () => {
  const task = await asked('Add a column that was never heard of');
  const { page } = await on.sit('priya', `/tasks/${task.id}`);
  await live(page);
  await page.route('**/v1/tasks/*/approve', (route) => route.abort('connectionreset'), {
    times: 1,
  });
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  await page.getByText('Not recorded.').waitFor();
  expect(await votesOf(task)).toEqual([]);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('[data-dock="voted"]').waitFor();
  expect(await votesOf(task)).toHaveLength(1);
});

it('reports an unknown result when the server dies, then resolves it', async () => {
  const task = await asked('Add a column while the server dies');
  const { page } = await on.sit('priya', `/tasks/${task.id}`);
  await live(page);
  // The request reaches the server; its response does not reach the page.
  await page.route(
    '**/v1/tasks/*/approve',
    async (route) => {
      await route.fetch();
      await on.world.stack.kill();
      await route.abort('connectionreset');
    },
    { times: 1 },
  );
  await page.getByRole('button', { name: 'Approve rev 1' }).click();
  await page.getByText('Unknown result').waitFor();
  await page.locator('[data-pill="offline"]').waitFor();
  await on.world.stack.start();
  await page.locator('[data-dock="voted"]').waitFor({ timeout: 30_000 });
  expect(await votesOf(task)).toHaveLength(1);
  await page.locator('[data-pill="live"]').waitFor({ timeout: 40_000 });
});
