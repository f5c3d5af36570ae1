// Three demo agents that keep proposing tasks: one migrates a database, one changes deployments by
// a declared plan, one runs commands through `ade run`. They apply approved tasks.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { declared, propose, sql } from './seed.mjs';
import { SERVER } from './stack.mjs';

const ADE = join(dirname(SERVER), 'ade');
/** Maximum number of pending tasks per agent. */
const WAITING_MAX = 2;
const PAUSE_MS = 4_000;

const MIGRATIONS = [
  ['Index purchases by customer', (n) => `CREATE INDEX purchase_${n} ON purchase (customer)`],
  [
    'Keep how customers want to be reached',
    (n) =>
      `ALTER TABLE customer ADD COLUMN channel_${n} text; ` +
      `UPDATE customer SET channel_${n} = 'mail' WHERE id % 2 = 0`,
  ],
  [
    'Clean up refunds of last year',
    () => 'DELETE FROM purchase WHERE amount < 500 AND customer % 7 = 0',
  ],
  ['Keep notes on customers', (n) => `CREATE TABLE note_${n} (customer bigint, text text)`],
];

const PLANS = [
  ['Scale checkout for the evening', 'deploy.scale', 'service:checkout', { replicas: [6, 12] }],
  ['Give support more memory', 'deploy.resize', 'service:support', { memory: ['512Mi', '1Gi'] }],
  ['Open the new checkout to more people', 'flag.change', 'service:checkout', { share: [25, 50] }],
];

const COMMANDS = [
  ['Restart the billing worker', 'worker:billing', ['sh', '-c', 'echo stopped; echo started']],
  ['How full the disks are', 'worker:billing', ['df', '-h']],
];

/** Repeats until it is stopped; retries later if the server does not respond. */
async function keep(name, abort, work) {
  for (let count = 0; !abort.aborted; count++) {
    await work(count).catch((error) => {
      if (!abort.aborted) console.log(`${name}: ${error.message.split('\n')[0]}`);
    });
    await sleep(PAUSE_MS, undefined, { signal: abort }).catch(() => undefined);
  }
}

const beat = (bot, id) =>
  bot.call('POST', `/v1/agents/${bot.id}/heartbeat`, { process_id: id, lease_ids: [], load: 1 });

async function isFull(bot) {
  const path = `/v1/tasks?agent_id=${bot.id}&state=REVIEWING&page_size=10`;
  return (await bot.call('GET', path)).items.length >= WAITING_MAX;
}

/** Applies one approved task, from permit to report. */
async function apply(bot, doIt) {
  const { permit } = await bot.call('POST', `/v1/agents/${bot.id}/claim`, { ttl_seconds: 60 });
  if (!permit) return;
  const { execution_id: id, lease_id, task } = permit;
  const tell = (what, body) => bot.call('POST', `/v1/executions/${id}/${what}`, body);
  await tell('begin', { lease_id });
  try {
    const output = await doIt(task);
    await tell('finish', { lease_id, output });
    console.log(`${bot.name}: applied T-${task.number}, ${task.title}`);
  } catch (error) {
    const text = error.message.slice(0, 500);
    await tell('finish', { lease_id, outcome: 'failed', left_behind: 'nothing', error: text });
    console.log(`${bot.name}: T-${task.number} failed: ${text}`);
  }
}

function planned(count) {
  const [title, type, resource, values] = PLANS[count % PLANS.length];
  const pick = (which) =>
    Object.fromEntries(Object.entries(values).map(([name, pair]) => [name, pair[which]]));
  const [[name, [from, to]]] = Object.entries(values);
  return declared(title, type, resource, [
    { action: 'change', summary: `${name} ${from} to ${to}`, before: pick(0), after: pick(1) },
  ]);
}

function run(bot, url, abort, count) {
  const [title, resource, command] = COMMANDS[count % COMMANDS.length];
  const args = ['run', '--resource', resource, '--title', title, '--', ...command];
  const child = spawn(ADE, args, {
    env: { PATH: process.env.PATH, HOME: '/', ADE_SERVER: url, ADE_TOKEN: bot.token },
    stdio: 'ignore',
    signal: abort,
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (!abort.aborted) console.log(`${bot.name}: “${title}” ended with ${code}`);
      resolve();
    });
  });
}

/** Starts all three agents; `stop` ends them. */
export async function startAgents({ stack, people }) {
  const { bots, sam } = people;
  const [migrator, release, infra] = ['db-migrator', 'release-agent', 'infra-bot'].map(
    (name) => bots[name],
  );
  const may = (bot, ...capabilities) =>
    sam.call('PATCH', `/v1/agents/${bot.id}`, { capabilities, max_tasks: 4 });
  await may(migrator, 'sql.*');
  await may(release, 'deploy.*', 'flag.*');
  await may(infra, 'command.run');
  const end = new AbortController();
  const began = Date.now();
  const processId = (letter) => `ags_01k9xq3vb8f2n4s6t7w8y9z0a${letter}`;
  const works = [
    keep(migrator.name, end.signal, async (count) => {
      await beat(migrator, processId('a'));
      await apply(migrator, (task) => stack.shop(task.parameters.sql));
      if (await isFull(migrator)) return;
      const [title, text] = MIGRATIONS[count % MIGRATIONS.length];
      await propose(migrator, sql(title, text(`${began + count}`)));
    }),
    keep(release.name, end.signal, async (count) => {
      await beat(release, processId('b'));
      await apply(release, async (task) => `${task.title}: done`);
      if (!(await isFull(release))) await propose(release, planned(count));
    }),
    keep(infra.name, end.signal, async (count) => {
      await beat(infra, processId('c'));
      await run(infra, stack.url, end.signal, count);
    }),
  ];
  return {
    stop: async () => {
      end.abort();
      await Promise.all(works);
    },
  };
}
