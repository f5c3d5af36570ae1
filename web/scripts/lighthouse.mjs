// `npm run lighthouse`: Lighthouse scores of the inbox and a review, as desktop and as phone. Fails
// below the thresholds. Lighthouse is installed on demand, because one of its dependencies requires
// the `latest` version of another, which no lock file can pin.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import lighthouse, { desktopConfig } from 'lighthouse';
import { chromium } from 'playwright-core';
import { CHROMIUM } from '../e2e/chromium.mjs';
import { PEOPLE, seedTasks } from '../e2e/seed.mjs';
import { freePort } from '../e2e/wait.mjs';
import { startWorld } from '../e2e/world.mjs';

const WANTED = {
  desktop: { performance: 95, accessibility: 100, 'best-practices': 95 },
  phone: { performance: 85, accessibility: 100, 'best-practices': 95 },
};
const FIGURES = {
  FCP: 'first-contentful-paint',
  LCP: 'largest-contentful-paint',
  TBT: 'total-blocking-time',
  CLS: 'cumulative-layout-shift',
};
/** Maximum layout shift. */
const SHIFT_MAX = 0.02;

async function judge(url, size, port) {
  const flags = {
    port,
    output: 'json',
    logLevel: 'error',
    onlyCategories: Object.keys(WANTED[size]),
    // The session is stored in this profile.
    disableStorageReset: true,
  };
  const { lhr } = await lighthouse(url, flags, size === 'desktop' ? desktopConfig : undefined);
  if (lhr.runtimeError) throw new Error(lhr.runtimeError.message);
  const scores = Object.entries(WANTED[size]).map(([name, least]) => {
    const score = Math.round(lhr.categories[name].score * 100);
    return { name, score, isEnough: score >= least };
  });
  const told = scores.map(({ name, score, isEnough }) => `${name} ${score}${isEnough ? '' : '!'}`);
  const times = Object.entries(FIGURES).map(
    ([word, audit]) => `${word} ${lhr.audits[audit].displayValue}`,
  );
  console.log([new URL(url).pathname.slice(0, 12), size, ...told, ...times].join('  '));
  const isStill = lhr.audits[FIGURES.CLS].numericValue <= SHIFT_MAX;
  if (!isStill) {
    for (const { node, score } of lhr.audits['layout-shifts'].details.items) {
      console.log(`    moved by ${score.toFixed(3)}: ${node?.snippet ?? 'nothing that is left'}`);
    }
  }
  const isEnough = isStill && scores.every((one) => one.isEnough);
  if (!isEnough) {
    for (const { id, score, title } of Object.values(lhr.audits)) {
      if (score !== null && score < 0.9) console.log(`    ${id}: ${title}`);
    }
  }
  return isEnough;
}

const world = await startWorld();
const folder = mkdtempSync(join(tmpdir(), 'ade-lighthouse-'));
let isEnough = true;
try {
  const tasks = await seedTasks(world.people);
  const port = await freePort();
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: CHROMIUM,
    args: ['--no-sandbox', `--remote-debugging-port=${port}`],
  });
  const page = await context.newPage();
  await page.goto(`${world.home}/auth/login?provider=company&return_to=/inbox`);
  await page.getByRole('button', { name: PEOPLE.priya.name }).click();
  await page.waitForURL(`${world.home}/inbox`);
  await page.close();
  for (const path of ['/inbox', `/tasks/${tasks.token.id}`]) {
    for (const size of Object.keys(WANTED)) {
      isEnough = (await judge(world.home + path, size, port)) && isEnough;
    }
  }
  await context.close();
} finally {
  await world.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(isEnough ? 0 : 1);
