// Computes the compressed size of a first visit from the build manifest. Fails above the budget.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const KB = 1000;
const BUDGET = { script: 220 * KB, style: 25 * KB, fonts: 80 * KB, all: 330 * KB, chunk: 60 * KB };

const at = (file) => new URL(`../target/pages/${file}`, import.meta.url);
const manifest = JSON.parse(readFileSync(at('.vite/manifest.json'), 'utf8'));
const packed = (file) => gzipSync(readFileSync(at(file)), { level: 9 }).length;
const raw = (file) => readFileSync(at(file)).length;

/** The entry and all its static imports. */
function firstLoad(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const next of manifest[name].imports ?? []) firstLoad(next, found);
  return found;
}

const first = [...firstLoad('index.html')].map((name) => manifest[name]);
const sum = (files, measure) =>
  [...new Set(files)].reduce((total, file) => total + measure(file), 0);
const script = sum(
  first.map(({ file }) => file),
  packed,
);
const style = sum(
  first.flatMap(({ css }) => css ?? []),
  packed,
);
const fonts = sum(
  first.flatMap(({ assets }) => assets ?? []).filter((file) => file.endsWith('.woff2')),
  raw,
);
const later = Object.values(manifest).filter(
  (entry) => entry.file.endsWith('.js') && !first.includes(entry),
);
const largest = Math.max(0, ...later.map(({ file }) => packed(file)));
const measured = { script, style, fonts, all: script + style + fonts, chunk: largest };

let isOver = false;
for (const [name, size] of Object.entries(measured)) {
  const limit = BUDGET[name];
  isOver ||= size > limit;
  const told = `${(size / KB).toFixed(1).padStart(6)} kB of ${limit / KB}`;
  console.log(`${name.padEnd(7)} ${told}${size > limit ? '  OVER' : ''}`);
}
// Large chunks that most visits never need.
const isEager = first.some(({ file }) =>
  /Palette|BatchDrawer|ReviewPage|Chart|EditorPage/.test(file),
);
if (isEager) console.log('a lazy chunk is part of the first load');
process.exit(isOver || isEager ? 1 : 0);
