// `npm run shots`: inbox and review with simulated colour vision deficiencies and forced colours.
import { beforeAll, it } from 'vitest';
import { stage } from './browser';
import { seedTasks, type TaskNow } from './seed.mjs';
import { shooting } from './shoot';

const on = stage();
const { folder } = shooting(on);
let tasks: Record<string, TaskNow> = {};

beforeAll(async () => {
  tasks = await seedTasks(on.world.people);
});

const KINDS = ['deuteranopia', 'protanopia', 'tritanopia', 'achromatopsia'] as const;

it.each(['inbox', 'review'])('%s with other colour vision', async (name) => {
  const path = name === 'inbox' ? '/inbox' : `/tasks/${tasks.token!.id}`;
  const { page, context } = await on.sit('priya', path, { motion: 'reduce' });
  await page.locator('[data-pill="live"]').waitFor();
  await page.locator(name === 'inbox' ? '[data-peek]' : '[data-risk]').waitFor();
  const cdp = await context.newCDPSession(page);
  for (const type of KINDS) {
    await cdp.send('Emulation.setEmulatedVisionDeficiency', { type });
    await page.screenshot({ path: `${folder}/${name}-${type}.png` });
  }
  await cdp.send('Emulation.setEmulatedVisionDeficiency', { type: 'none' });
  await page.emulateMedia({ forcedColors: 'active' });
  await page.screenshot({ path: `${folder}/${name}-forced-colours.png` });
});
