// Hidden characters in texts, from the API to the page, with the samples that the core and the
// terminal are tested against.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectCalm, stage } from './browser';
import { declared, propose } from './seed.mjs';

const on = stage();
const file = '../crates/core/samples/spoofing.json';
const SAMPLES = JSON.parse(readFileSync(file, 'utf8')) as [text: string, shown: string][];
/** Number of changes that the page shows per step. */
const STEP = 50;

interface Stored {
  readonly effect: { readonly changes: { readonly summary: string }[] };
}

const bot = () => on.world.people.bots['infra-bot']!;

/** Each sample has a number in front, so that sorting by severity keeps their order. */
const numbered = (texts: readonly string[]) => texts.map((text, nth) => `${nth}: ${text}`);
const byNumber = (one: string, other: string) => parseInt(one, 10) - parseInt(other, 10);

const hiding = (summaries: readonly string[]) =>
  declared(
    'Hide something',
    'deploy.scale',
    'service:checkout',
    summaries.map((summary) => ({ action: 'change', summary })),
  );

/** All characters of the samples that must not reach the page unescaped. Line breaks and tabs occur
 *  between the parts of a page, and a joiner between two emoji hides nothing. */
function acting(): Set<string> {
  const hidden = SAMPLES.flatMap(([text, shown]) =>
    [...text].filter((character) => !shown.includes(character)),
  );
  return new Set(hidden.filter((character) => !'\n\t\u200d'.includes(character)));
}

/** Text of every change on the page, with code point chips in their plain notation. */
function shownOn(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('[data-change] [data-summary] bdi')].map((text) =>
      [...text.childNodes]
        .map((piece) => {
          const isChip = piece instanceof Element && piece.hasAttribute('title');
          return isChip ? `‹${piece.textContent}›` : piece.textContent;
        })
        .join(''),
    ),
  );
}

async function unfold(page: Page, count: number): Promise<void> {
  const changes = page.locator('[data-change]');
  for (let drawn = STEP; drawn < count; drawn += STEP) {
    await changes.nth(drawn - 1).waitFor();
    const next = Math.min(STEP, count - drawn);
    await page.getByRole('button', { name: `Show ${next} more` }).click();
  }
  await changes.nth(count - 1).waitFor();
}

it('renders every sample as expected and escapes active characters', async () => {
  expect(SAMPLES.length).toBeGreaterThanOrEqual(200);
  const kept = SAMPLES.filter(([text]) => !text.includes('\0'));
  const texts = numbered(kept.map(([text]) => text));
  const task = await propose(bot(), hiding(texts));
  const { effect } = await bot().call<Stored>('GET', `/v1/tasks/${task.id}`);
  expect(effect.changes.map(({ summary }) => summary)).toEqual(texts);
  const seat = await on.sit('priya', `/tasks/${task.id}`);
  const { page } = seat;
  await unfold(page, kept.length);
  const found = (await shownOn(page)).sort(byNumber);
  expect(found).toEqual(numbered(kept.map(([, shown]) => shown)));
  const characters = acting();
  expect(characters.size).toBeGreaterThanOrEqual(100);
  const body = page.locator('body');
  // Rendered text, markup, and accessible names.
  for (const text of [await body.innerText(), await body.textContent(), await page.content()]) {
    expect([...text!].filter((character) => characters.has(character))).toEqual([]);
  }
  expect(await page.locator('img, [onerror], [onload]').count()).toBe(0);
  await expectCalm(seat);
});

// The database cannot store this character, so no page ever receives it.
it('never receives a text with U+0000', async () => {
  const zeros = SAMPLES.map(([text]) => text).filter((text) => text.includes('\0'));
  expect(zeros).not.toEqual([]);
  for (const text of zeros) {
    const refused = bot().call('POST', '/v1/tasks', hiding([text]));
    await expect(refused).rejects.toThrow(/: 422 .*U\+0000/s);
  }
});
