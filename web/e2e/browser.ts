import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { startWorld, type World } from './world.mjs';

export const SIZES = {
  desktop: { width: 1440, height: 900 },
  phone: { width: 390, height: 844 },
} as const;

export type Size = keyof typeof SIZES;
export type Theme = 'light' | 'dark';

export interface Look {
  size?: Size;
  theme?: Theme;
  motion?: 'reduce' | 'no-preference';
}

export interface Seat {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the browser complained about. */
  readonly complaints: string[];
}

export interface Stage {
  readonly world: World;
  /** A browser of its own for one person. */
  readonly sit: (who: string, path: string, look?: Look) => Promise<Seat>;
}

/** A world and a browser for the tests of one file. */
export function stage(): Stage {
  let world: World | undefined;
  let browser: Browser | undefined;
  const seats: Seat[] = [];
  beforeAll(async () => {
    world = await startWorld();
    const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    await world?.stop();
  });
  return {
    get world() {
      return world!;
    },
    sit: async (
      who,
      path,
      { size = 'desktop', theme = 'light', motion = 'no-preference' } = {},
    ) => {
      for (const seat of seats.splice(0)) if (seat.page.isClosed()) await seat.context.close();
      const context = await browser!.newContext({
        viewport: SIZES[size],
        colorScheme: theme,
        reducedMotion: motion,
        hasTouch: size === 'phone',
      });
      const page = await context.newPage();
      page.setDefaultTimeout(15_000);
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      await page.goto(world!.at(who) + path);
      const seat = { page, context, complaints };
      seats.push(seat);
      return seat;
    },
  };
}

/** Nothing was logged, and nothing sticks out to the side. */
export async function expectCalm({ page, complaints }: Seat): Promise<void> {
  expect(complaints).toEqual([]);
  const over = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(over).toBeLessThanOrEqual(0);
}

export async function live(page: Page): Promise<void> {
  await page.locator('[data-pill="live"]').waitFor();
}
