import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { expectCalm, live, read, stage } from './browser';
import { type DialogCase, DIALOGS } from './dialogs';
import { declared, propose, type TaskNow, type Who } from './seed.mjs';

const on = stage();
const BLIND = 'a r c a a';

let task: TaskNow;
let critical: TaskNow;

beforeAll(async () => {
  const { bots, sam } = on.world.people;
  const change = [{ action: 'change', summary: 'replicas 6 to 24' }];
  const scale = declared('Scale checkout', 'deploy.scale', 'service:checkout', change);
  task = await propose(bots['release-agent']!, scale);
  const thresholds = { medium: 30, high: 60, critical: 80 };
  await sam.call('PUT', '/v1/risk/settings', { thresholds }, { 'If-Match': '"0"' });
  const dependents = ['service:checkout', 'service:billing', 'service:support'];
  const ledger = { criticality: 100, environment: 'production', dependents };
  await sam.call('PUT', '/v1/resources/database/ledger', ledger);
  const drop = [{ action: 'remove', summary: 'all of it', irreversible: true }];
  critical = await propose(
    bots['infra-bot']!,
    declared('Drop the ledger', 'data.drop', 'database:ledger', drop),
  );
  const ends = new Date(Date.now() + 3_600_000).toISOString();
  const incident = { resources: ['service:support'], reason: 'INC-441', ends_at: ends };
  await sam.call('POST', '/v1/locks/incidents', incident);
  const freeze = { scope: 'resources', target: 'site:*', reason: 'INC-441' };
  await sam.call('POST', '/v1/freezes', freeze);
});

interface Case {
  readonly who: Who;
  readonly path: () => string;
  readonly open: (page: Page) => Promise<void>;
  /** Whether the dialog opens with a text field, which must receive the typed letters. */
  readonly hasField: boolean;
}

const onReview = (key: string, of: () => TaskNow = () => task): Case => ({
  who: 'priya',
  path: () => `/tasks/${of().id}`,
  open: async (page) => {
    await read(page);
    // Approving by key takes two presses.
    if (key === 'a') await page.keyboard.press(key);
    await page.keyboard.press(key);
  },
  hasField: true,
});

const batch = (word: string): Case => ({
  who: 'priya',
  path: () => `/inbox?q=t-${task.number}`,
  open: async (page) => {
    await page.locator('[data-cursor]').waitFor();
    await page.keyboard.press('x');
    const selected = page.getByRole('region', { name: 'Selected' });
    await selected.getByRole('button', { name: `${word}…` }).click();
  },
  hasField: true,
});

/** All dialogs but the passkey one, which needs an authenticator; `step-up.e2e.ts` opens it. */
const CASES: Record<Exclude<DialogCase, 'passkey'>, Case> = {
  reject: onReview('r'),
  'request changes': onReview('c'),
  'approve critical': onReview('a', () => critical),
  palette: onReview('Control+k'),
  help: { ...onReview('?'), hasField: false },
  'batch approve': batch('Approve'),
  'batch reject': batch('Reject'),
  freeze: {
    who: 'sam',
    path: () => `/tasks/${task.id}`,
    open: (page) => page.getByRole('button', { name: 'Freeze applies' }).click(),
    hasField: true,
  },
  unfreeze: {
    who: 'sam',
    path: () => `/tasks/${task.id}`,
    open: (page) => page.getByRole('button', { name: 'Unfreeze…' }).click(),
    hasField: true,
  },
  'incident lock': {
    who: 'sam',
    path: () => '/locks',
    open: (page) => page.getByRole('button', { name: 'Take lock…' }).click(),
    hasField: true,
  },
  'break lock': {
    who: 'sam',
    path: () => '/locks?view=all&resource=service:support',
    open: (page) => page.locator('[role="dialog"] form').waitFor(),
    // The field appears with the lock, which is loaded after the drawer has opened.
    hasField: false,
  },
  'audit entry': {
    who: 'sam',
    path: () => '/audit',
    open: async (page) => {
      await page.locator('[role="row"][data-index="0"]').click();
      await page.keyboard.press('Enter');
    },
    hasField: false,
  },
};

/** Closes the dialog and continues typing at once, from inside the page, because a second passes
 *  quickly on a busy machine. */
function closeAndType(page: Page, text: string): Promise<void> {
  return page.evaluate(async (letters) => {
    const press = (key: string) =>
      (document.activeElement ?? document.body).dispatchEvent(
        new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }),
      );
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    press('Escape');
    await frame();
    await frame();
    const buttons = document.querySelectorAll<HTMLButtonElement>('[data-discard] button');
    [...buttons].find(({ textContent }) => textContent === 'Discard')?.click();
    for (let frames = 0; document.querySelector('[role="dialog"]'); frames += 1) {
      if (frames > 120) throw new Error('the dialog stays open');
      await frame();
    }
    for (const letter of letters) if (letter !== ' ') press(letter);
    await frame();
  }, text);
}

interface Votes {
  readonly votes: unknown[];
}

async function expectNothingDecided(): Promise<void> {
  const { bob, sam } = on.world.people;
  for (const { id } of [task, critical]) {
    const { votes } = await bob.call<Votes>('GET', `/v1/tasks/${id}/approvals`);
    expect(votes).toEqual([]);
  }
  const { items } = await sam.call<{ items: unknown[] }>('GET', '/v1/freezes');
  expect(items).toEqual([expect.objectContaining({ target: 'site:*', in_force: true })]);
  const lock = await sam.call<{ holding: number }>('GET', '/v1/locks/service/support');
  expect(lock.holding).toBe(1);
}

it('is a list of all dialogs', () => {
  const all = Object.values(DIALOGS).flat();
  expect([...Object.keys(CASES), 'passkey'].sort()).toEqual([...all].sort());
});

it.each(Object.entries(CASES))('%s: blind typing decides nothing', async (_name, one) => {
  const seat = await on.sit(one.who, one.path());
  const { page } = seat;
  await live(page);
  const written: string[] = [];
  page.on('request', (request) => {
    const isDry = request.url().includes('dry_run=true');
    if (request.method() !== 'GET' && !isDry) written.push(`${request.method()} ${request.url()}`);
  });
  await one.open(page);
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  const before = page.url();
  await page.keyboard.type(BLIND, { delay: 30 });
  expect(await dialog.count(), 'it stays open').toBe(1);
  expect(page.url()).toBe(before);
  if (one.hasField) {
    const focused = page.locator('[role="dialog"] :focus');
    expect(await focused.inputValue()).toBe(BLIND);
  }
  const name = await dialog.evaluate((element) => {
    const buttons = [...element.querySelectorAll('button')];
    return buttons.at(-1)?.getAttribute('aria-label');
  });
  expect(name, 'the ✕ comes last').toBe('Close');
  await closeAndType(page, BLIND);
  expect(await dialog.count(), 'no letter opened another').toBe(0);
  expect(written).toEqual([]);
  await expectNothingDecided();
  await expectCalm(seat);
  await page.close();
});

it('asks before it discards a reason, and keys work again a second after it closed', async () => {
  const seat = await on.sit('priya', `/tasks/${task.id}`);
  const { page } = seat;
  await page.locator('[data-dock="decide"]').waitFor();
  await page.keyboard.press('r');
  const reason = page.getByLabel('Why');
  await page.keyboard.type('hides a drop');
  await page.keyboard.press('Escape');
  await page.getByText('Discard what you typed?').waitFor();
  await page.keyboard.press('Enter');
  expect(await reason.inputValue(), 'Enter keeps it').toBe('hides a drop');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.waitForTimeout(1_100);
  await page.keyboard.press('r');
  await page.getByRole('dialog').waitFor();
  expect(await reason.inputValue()).toBe('');
  await expectNothingDecided();
  await expectCalm(seat);
});
