// `npm run play`: a stack with people and tasks, and a page for each of them to look around in.
import { writeFileSync } from 'node:fs';
import { seedTasks } from './seed.mjs';
import { startWorld } from './world.mjs';

const world = await startWorld();
const tasks = await seedTasks(world.people);
for (const who of ['priya', 'lena', 'marc', 'bob', 'sam'])
  console.log(`${who.padEnd(6)} ${world.at(who)}`);
console.log('Ctrl-C ends it and removes everything.');
if (process.env.ADE_PLAY_FILE) {
  const { people, stack } = world;
  const pages = Object.fromEntries(
    ['priya', 'lena', 'marc', 'bob', 'sam', 'nobody'].map((who) => [who, world.at(who)]),
  );
  writeFileSync(
    process.env.ADE_PLAY_FILE,
    JSON.stringify({ url: stack.url, pages, tasks, people }),
    { mode: 0o600 },
  );
}
await new Promise((resolve) => {
  process.once('SIGINT', resolve);
  process.once('SIGTERM', resolve);
});
await world.stop();
process.exit(0);
