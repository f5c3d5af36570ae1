// A vote is bound to a digest. On every page where one votes, each text that the digest covers is
// visible, or one cannot approve.
import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { spelled } from '../src/ui/text';
import { expectCalm, live, read, stage } from './browser';
import { declared, propose, type TaskNow } from './seed.mjs';

const on = stage();
const file = '../crates/core/samples/spoofing.json';
const SAMPLES = (JSON.parse(readFileSync(file, 'utf8')) as [text: string, shown: string][])
  .map(([text]) => text)
  // The database cannot store this character.
  .filter((text) => !text.includes('\0'));

interface Stored {
  readonly type: string;
  readonly parameters: unknown;
  readonly resources: { readonly resource: string; readonly mode?: string }[];
  readonly effect: {
    readonly changes: {
      readonly resource: string;
      readonly summary: string;
      readonly before?: unknown;
      readonly after?: unknown;
    }[];
    readonly warnings: string[];
    readonly errors: string[];
  };
}

/** Every text below the digest: names and values, however deep. */
function texts(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(texts);
  if (value === null || typeof value !== 'object') return [String(value)];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...texts(inner)]);
}

function covered({ type, parameters, resources, effect }: Stored): string[] {
  const changes = effect.changes.flatMap(({ resource, summary, before, after }) => [
    resource,
    summary,
    ...(before === undefined ? [] : texts(before)),
    ...(after === undefined ? [] : texts(after)),
  ]);
  const touched = resources.flatMap(({ resource, mode }) => [resource, mode ?? 'exclusive']);
  return [type, ...texts(parameters), ...touched, ...changes, ...effect.warnings, ...effect.errors];
}

/** Spaces and breaks between parts of a page are layout, so they are left out on both sides. */
const dense = (text: string) => text.replaceAll(/[ \n\t]/g, '');

/** Written line by line, on one line, or as JSON inside a value or an unusual name. */
function isIn(page: string, text: string): boolean {
  const lines = text.split(/\r?\n/).map((line) => line.split('\t').map(spelled).join('\t'));
  const ways = [lines, [spelled(text)], [spelled(JSON.stringify(text).slice(1, -1))]];
  return ways.some((parts) => parts.every((part) => page.includes(dense(part))));
}

/** The visible text below an element: rendered, and not cut off by a box around it. */
function visible(root: Locator): Promise<string> {
  return root.evaluate((top) => {
    const isCut = (element: Element): boolean => {
      const box = element.getBoundingClientRect();
      for (let up = element.parentElement; up && up !== top; up = up.parentElement) {
        const style = getComputedStyle(up);
        const outer = up.getBoundingClientRect();
        const isClipped = (overflow: string) => overflow === 'hidden' || overflow === 'clip';
        if (isClipped(style.overflowX) && box.right > outer.right + 1) return true;
        if (isClipped(style.overflowY) && box.bottom > outer.bottom + 1) return true;
      }
      return false;
    };
    const parts: string[] = [];
    const walk = (node: Node): void => {
      if (node.nodeType === Node.TEXT_NODE) {
        parts.push(node.textContent ?? '');
        return;
      }
      if (!(node instanceof Element)) return;
      const isSeen = node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      if (!isSeen || isCut(node)) return;
      if (node.tagName === 'SPAN' && node.hasAttribute('title')) {
        parts.push(`‹${node.textContent}›`);
        return;
      }
      node.childNodes.forEach(walk);
      const isLine = ['block', 'flex', 'grid'].includes(getComputedStyle(node).display);
      if (isLine) parts.push('\n');
    };
    walk(top);
    return parts.join('');
  });
}

interface Surface {
  readonly root: (page: Page) => Locator;
  readonly approve: RegExp;
  readonly open: (page: Page, tasks: readonly TaskNow[], type: string) => Promise<void>;
}

const SURFACES: Record<string, Surface> = {
  review: {
    root: (page) => page.getByRole('group', { name: 'Task', exact: true }),
    approve: /^Approve rev/,
    open: async (page, [task]) => {
      await page.goto(`${on.world.home}/tasks/${task!.id}`);
      await page.locator('[data-dock="decide"]').waitFor();
    },
  },
  preview: {
    root: (page) => page.getByRole('complementary', { name: 'Preview' }),
    approve: /^Approve$/,
    open: async (page, [task]) => {
      await page.goto(`${on.world.home}/inbox?q=t-${task!.number}`);
      await page.locator(`[data-peek="${task!.id}"]`).waitFor();
    },
  },
  batch: {
    root: (page) => page.getByRole('dialog'),
    approve: /^Approve \d+$/,
    open: async (page, tasks, type) => {
      await page.goto(`${on.world.home}/inbox?q=type:${type}`);
      await page.locator('[data-cursor]').waitFor();
      await page.keyboard.press('Control+a');
      await page.getByText(`${tasks.length} selected`).waitFor();
      const selected = page.getByRole('region', { name: 'Selected' });
      await selected.getByRole('button', { name: 'Approve…' }).click();
      await page.locator('[data-preflight="judged"]').waitFor();
    },
  },
};

const CONTENTS: Record<string, () => object> = {
  'spoofing samples': () => ({
    parameters: {
      ...Object.fromEntries(SAMPLES.slice(0, 12).map((text, nth) => [`${text}${nth}`, text])),
      nested: { list: SAMPLES.slice(12, 20), none: null, yes: true, n: 7 },
    },
    changes: SAMPLES.slice(0, 40).map((text) => ({
      action: 'change',
      summary: text,
      before: text,
      after: { value: text },
    })),
  }),
  'long parameters': () => ({
    parameters: { texts: SAMPLES, sql: `SELECT 1;${' '.repeat(3_000)}DROP TABLE customer` },
    changes: [{ action: 'change', summary: 'refresh planner statistics' }],
  }),
  'one long line': () => ({
    parameters: { sql: `${'x'.repeat(9_000)}; DROP TABLE customer` },
    changes: [{ action: 'change', summary: 'refresh planner statistics' }],
  }),
  'many changes': () => ({
    parameters: { reason: 'many' },
    changes: Array.from({ length: 120 }, (_, nth) => ({
      action: 'change',
      summary: `column ${nth}: ${SAMPLES[nth % SAMPLES.length]}`,
    })),
  }),
  'long values': () => {
    const lines = Array.from({ length: 90 }, (_, nth) => `${nth}: ${SAMPLES[nth]}`);
    return {
      parameters: { reason: 'values' },
      changes: [
        {
          action: 'change',
          summary: 'edit the file',
          before: lines.join('\n'),
          after: [...lines.slice(0, 88), 'DROP'].join('\n'),
        },
      ],
    };
  },
};

const made = new Map<string, { tasks: TaskNow[]; type: string; texts: string[] }>();

beforeAll(async () => {
  const bot = on.world.people.bots['infra-bot']!;
  let nth = 0;
  for (const [name, content] of Object.entries(CONTENTS)) {
    const { changes, ...more } = content() as { changes: { action: string; summary: string }[] };
    nth += 1;
    const type = `content.kind${nth}`;
    const tasks = [];
    for (const title of ['one', 'two']) {
      const asked = declared(`Refresh ${title}`, type, 'worker:billing', changes, more);
      tasks.push(await propose(bot, asked));
    }
    const stored = await bot.call<Stored>('GET', `/v1/tasks/${tasks[0]!.id}`);
    made.set(name, { tasks, type, texts: covered(stored) });
  }
});

const CASES = Object.keys(SURFACES).flatMap((surface) =>
  Object.keys(CONTENTS).map((content) => [surface, content] as const),
);

it.each(CASES)('%s, %s: what cannot be seen cannot be approved', async (where, what) => {
  const { root: rootOf, approve, open } = SURFACES[where]!;
  const { tasks, type, texts: wanted } = made.get(what)!;
  const seat = await on.sit('priya', '/settings');
  const { page } = seat;
  await live(page);
  await open(page, tasks, type);
  const root = rootOf(page);
  const button = page.getByRole('button', { name: approve }).last();
  const isBarred = async () => (await button.getAttribute('aria-disabled')) === 'true';
  const missing = async () => {
    const shown = dense(await visible(root));
    return wanted.filter((text) => !isIn(shown, text));
  };
  const unfold = root.getByRole('button', { name: /^Show (everything|all|\d)/ });
  for (let steps = 0; (await unfold.count()) > 0; steps += 1) {
    expect(await isBarred(), 'something is folded').toBe(true);
    expect(steps).toBeLessThan(60);
    await unfold.first().click();
  }
  expect(await missing()).toEqual([]);
  await read(page, approve);
  expect(await isBarred()).toBe(false);
  expect(await missing()).toEqual([]);
  await expectCalm(seat);
  await page.close();
});

it('waits while the page is not on screen, and until its end was', async () => {
  const { tasks, type } = made.get('spoofing samples')!;
  const seat = await on.sit('marc', '/settings');
  const { page } = seat;
  await live(page);
  await SURFACES['review']!.open(page, tasks, type);
  const button = page.getByRole('button', { name: 'Approve rev 1' });
  await page.getByText(/parts were not on screen yet/).waitFor();
  await page.keyboard.press('a');
  await page.keyboard.press('a');
  expect(await button.getAttribute('aria-disabled')).toBe('true');
  await read(page);
  // Another tab is in front: what was read has to be on screen again.
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true');
  await page.evaluate(() => {
    Reflect.deleteProperty(document, 'visibilityState');
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await expect.poll(() => button.getAttribute('aria-disabled')).toBeNull();
  const { votes } = await on.world.people.bob.call<{ votes: unknown[] }>(
    'GET',
    `/v1/tasks/${tasks[0]!.id}/approvals`,
  );
  expect(votes).toEqual([]);
});
