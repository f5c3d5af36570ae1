// `cargo xtask demo`: a demo company with people, policies and agents that keep proposing tasks.
import { startAgents } from './demo-agents.mjs';
import { PEOPLE, seedTasks } from './seed.mjs';
import { startWorld } from './world.mjs';

console.log('Starting PostgreSQL, Redis and the server…');
const world = await startWorld();
let agents;
const stopped = new Promise((resolve) => {
  process.once('SIGINT', resolve);
  process.once('SIGTERM', resolve);
});
try {
  const tasks = await seedTasks(world.people);
  agents = await startAgents(world);
  const width = Math.max(...Object.values(PEOPLE).map(({ name }) => name.length));
  const people = Object.values(PEOPLE).map(
    ({ name, roles }) => `  ${name.padEnd(width)}  ${roles.join(', ')}`,
  );
  console.log(`
Open    ${world.home}

Sign in as one of these; there are no passwords here:
${people.join('\n')}

What to try
  as Priya   ${world.home}/inbox
             T-${tasks.deceit.number} claims to be “docs only” but would drop a table
             T-${tasks.token.number} needs two people: approve it, then as Lena in another browser
             a task of release-agent needs one: approve it and watch the agent apply it
  as Sam     ${world.home}/overview
             ${world.home}/settings/freezes stops everything at once

Three agents keep proposing tasks and apply approved ones. Ctrl-C ends the demo and removes it.
`);
  await stopped;
  console.log('\nEnding…');
} finally {
  await agents?.stop();
  await world.stop();
}
process.exit(0);
