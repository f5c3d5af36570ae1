// `cargo xtask demo`: a demo company with people, policies and agents that keep proposing tasks.
import { startAgents } from './demo-agents.mjs';
import { PEOPLE, person, seedTasks } from './seed.mjs';
import { startWorld } from './world.mjs';

/** Publishes what Sam proposes. She has not signed in yet, so the demo begins in setup. */
const NORA = person('Nora Lind', 'admin');

console.log('Starting PostgreSQL, Redis and the server…');
const world = await startWorld([NORA]);
let agents;
const stopped = new Promise((resolve) => {
  process.once('SIGINT', resolve);
  process.once('SIGTERM', resolve);
});
try {
  await world.people.admin.call('POST', '/v1/users', { ...NORA, issuer: world.issuer });
  const tasks = await seedTasks(world.people);
  agents = await startAgents(world);
  const everyone = [...Object.values(PEOPLE), NORA];
  const width = Math.max(...everyone.map(({ name }) => name.length));
  const people = everyone.map(({ name, roles }) => `  ${name.padEnd(width)}  ${roles.join(', ')}`);
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
             ${world.home}/settings/people gives a person a role: once an agent has applied
             a task, that waits for a second admin
  as Nora    ${world.home}/changes publishes it, in another browser

Three agents keep proposing tasks and apply approved ones. Ctrl-C ends the demo and removes it.
`);
  await stopped;
  console.log('\nEnding…');
} finally {
  await agents?.stop();
  await world.stop();
}
process.exit(0);
