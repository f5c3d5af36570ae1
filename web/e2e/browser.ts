import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { CHROMIUM } from './chromium.mjs';
import { PEOPLE, type Who } from './seed.mjs';
import { startWorld, type World } from './world.mjs';

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>;

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
  /** Whether the browser gets its own session, for tests that end it. */
  isAlone?: boolean;
}

export interface Seat {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Console errors and failed requests of the browser. */
  readonly complaints: string[];
}

export interface Stage {
  readonly world: World;
  /** Opens a separate browser for one signed-in person; `anonymous` is not signed in. */
  readonly sit: (who: Who | 'anonymous', path: string, look?: Look) => Promise<Seat>;
}

/** Scrolls through everything on which one votes, and waits until one can approve. `approve` is the
 *  name of the button. */
export async function read(page: Page, approve: RegExp = /^Approve/): Promise<void> {
  const button = page.getByRole('button', { name: approve }).last();
  await button.waitFor();
  await expect
    .poll(
      async () => {
        await page.evaluate(async () => {
          const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
          for (const end of document.querySelectorAll('[data-part-end]')) {
            end.scrollIntoView({ block: 'nearest' });
            await frame();
            await frame();
          }
        });
        return button.getAttribute('aria-disabled');
      },
      { timeout: 20_000, interval: 200 },
    )
    .not.toBe('true');
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}

/** Signs in on the page of the identity provider. */
async function signIn(browser: Browser, { home, issuer }: World, who: Who): Promise<Cookies> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${home}/auth/login?provider=company&return_to=/signed-in`);
  await page.waitForURL(`${issuer}/**`);
  await page.getByRole('button', { name: PEOPLE[who].name }).click();
  await page.waitForURL(`${home}/signed-in`);
  const cookies = await context.cookies(home);
  await context.close();
  return cookies;
}

/** Starts a world and a browser for the tests of one file. */
export function stage(): Stage {
  let world: World | undefined;
  let browser: Browser | undefined;
  const seats: Seat[] = [];
  /** Session state per person, shared by all their browsers. */
  const sessions = new Map<Who, Promise<Cookies>>();
  beforeAll(async () => {
    world = await startWorld();
    browser = await launch();
  });
  afterAll(async () => {
    // A page may still poll; a request that a test intercepts must not fail when the browser ends.
    const pages = browser?.contexts().flatMap((context) => context.pages()) ?? [];
    await Promise.all(pages.map((page) => page.unrouteAll({ behavior: 'ignoreErrors' })));
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
      { size = 'desktop', theme = 'light', motion = 'no-preference', isAlone = false } = {},
    ) => {
      for (const seat of seats.splice(0)) if (seat.page.isClosed()) await seat.context.close();
      const context = await browser!.newContext({
        viewport: SIZES[size],
        colorScheme: theme,
        reducedMotion: motion,
        hasTouch: size === 'phone',
      });
      if (who !== 'anonymous') {
        const known = isAlone ? undefined : sessions.get(who);
        const session = known ?? signIn(browser!, world!, who);
        if (!isAlone) sessions.set(who, session);
        await context.addCookies(await session);
      }
      const page = await context.newPage();
      page.setDefaultTimeout(15_000);
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      await page.goto(world!.home + path);
      const seat = { page, context, complaints };
      seats.push(seat);
      return seat;
    },
  };
}

/** Asserts that nothing was logged and that the page does not scroll sideways. */
export async function expectCalm({ page, complaints }: Seat): Promise<void> {
  expect(complaints).toEqual([]);
  const over = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(over).toBeLessThanOrEqual(0);
}

export async function live(page: Page): Promise<void> {
  // Twice the poll interval of the page.
  await page.locator('[data-pill="live"]').waitFor({ timeout: 30_000 });
}
