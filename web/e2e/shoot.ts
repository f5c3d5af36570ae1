import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import type { Size, Stage, Theme } from './browser';
import type { Who } from './seed.mjs';

type Shot = (page: Page) => Promise<void>;

const THEMES: Theme[] = ['light', 'dark'];
const SIZES: Size[] = ['desktop', 'phone'];

/** Takes screenshots of pages and stores them for the documentation. */
export function shooting(on: Stage) {
  const folder =
    process.env.ADE_SHOTS ?? fileURLToPath(new URL('../../docs/images', import.meta.url));
  mkdirSync(folder, { recursive: true });
  const shoot = async (name: string, who: Who, path: string, ready: Shot): Promise<void> => {
    for (const size of SIZES) {
      for (const theme of THEMES) {
        // On a phone the light theme is enough; the dark one is the same page.
        if (size === 'phone' && theme === 'dark' && name !== 'review') continue;
        const { page } = await on.sit(who, path, { size, theme, motion: 'reduce' });
        await page.locator('[data-pill="live"]').waitFor();
        await ready(page);
        await page.evaluate(() => document.fonts.ready);
        const file = size === 'phone' ? `${name}-phone-${theme}.png` : `${name}-${theme}.png`;
        await page.screenshot({ path: `${folder}/${file}` });
        await page.close();
      }
    }
  };
  const settled: Shot = async (page) => {
    await page.waitForLoadState('networkidle').catch(() => undefined);
  };
  return { shoot, settled, folder, THEMES, SIZES };
}
