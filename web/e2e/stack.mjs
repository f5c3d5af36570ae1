// A record, a server and its people, for tests and for looking around: real PostgreSQL, the real
// binary, everything in one directory that goes away again.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { chownSync, chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SERVER = process.env.ADE_SERVER_BIN ?? '../target/debug/ade-server';
const ROLES = `
CREATE ROLE ade_app; CREATE ROLE ade_worker;
CREATE ROLE ade_owner LOGIN; CREATE ROLE shop LOGIN;
CREATE ROLE ade_api LOGIN IN ROLE ade_app;
CREATE ROLE ade_work LOGIN IN ROLE ade_app, ade_worker;`;

/** A port that nothing listens on now. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Asks until the answer is truthy, and says what was asked for if it never is. */
export async function eventually(what, ask, { within = 20_000, every = 50 } = {}) {
  const end = Date.now() + within;
  for (;;) {
    const answer = await Promise.resolve()
      .then(ask)
      .catch(() => undefined);
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`${what}: not within ${within} ms`);
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}

function postgresHome() {
  if (process.env.ADE_POSTGRES_BIN) return process.env.ADE_POSTGRES_BIN;
  return execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
}

/** PostgreSQL refuses to run as root; then it runs as its own user. */
function unprivileged(directory) {
  if (process.getuid?.() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const [uid, gid] = [id('-u'), id('-g')];
  chownSync(directory, uid, gid);
  return { uid, gid };
}

async function startPostgres(root) {
  const bin = postgresHome();
  const directory = join(root, 'pg');
  mkdirSync(directory, { recursive: true });
  chmodSync(root, 0o755);
  const user = unprivileged(directory);
  const port = await freePort();
  const run = { ...user, cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] };
  execFileSync(join(bin, 'initdb'), ['-D', directory, '-A', 'trust', '-U', 'postgres', '-k'], run);
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories='];
  const log = openSync(join(root, 'postgres.log'), 'w');
  const flags = settings.flatMap((setting) => ['-c', setting]);
  const child = spawn(join(bin, 'postgres'), ['-D', directory, ...flags], {
    ...user,
    cwd: '/',
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const url = (role, name) => `postgres://${role}@127.0.0.1:${port}/${name}`;
  const sql = (role, name, text) =>
    execFileSync('psql', ['-qX', '-v', 'ON_ERROR_STOP=1', url(role, name)], { input: text });
  await eventually('postgres answers', () => {
    execFileSync(join(bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]);
    return true;
  });
  sql('postgres', 'postgres', ROLES);
  sql('postgres', 'postgres', 'CREATE DATABASE ade_record OWNER ade_owner');
  sql('postgres', 'postgres', 'CREATE DATABASE shop OWNER shop');
  return { child, url, sql };
}

function settings(root, postgres, port, origins) {
  const pepper = join(root, 'pepper');
  writeFileSync(pepper, randomBytes(32), { mode: 0o600 });
  return {
    PATH: process.env.PATH,
    ADE__SERVER__LISTEN: `127.0.0.1:${port}`,
    ADE__SERVER__ORIGINS: origins.join(','),
    ADE__AUTH__PEPPER_FILE: pepper,
    ADE__RECEIPTS__KEY_FILES: join(root, 'receipts.pem'),
    ADE__DATABASE__OWNER_URL: postgres.url('ade_owner', 'ade_record'),
    ADE__DATABASE__URL: postgres.url('ade_api', 'ade_record'),
    ADE__DATABASE__WORKER_URL: postgres.url('ade_work', 'ade_record'),
    ADE__LOCKS__BACKEND: 'postgres',
    ADE__PREVIEW__TARGETS__SHOP__URL: postgres.url('shop', 'shop'),
  };
}

function gone(child, signal) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', resolve);
    child.kill(signal);
  });
}

/** Starts everything; `stop` ends it and removes what it wrote. `more` adds settings, for the
 *  address that the server will have. */
export async function startStack({ origins, more = () => ({}) }) {
  const root = mkdtempSync(join(tmpdir(), 'ade-web-'));
  const postgres = await startPostgres(root);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...settings(root, postgres, port, origins), ...more(url) };
  execFileSync(SERVER, ['keys', 'new', join(root, 'receipts.pem')], { env });
  const told = execFileSync(SERVER, ['migrate', '--bootstrap', 'acme'], { env, encoding: 'utf8' });
  const once = /ade_usr_\S+/.exec(told)?.[0];
  if (!once) throw new Error('migrate printed no token');
  let server;
  const start = async () => {
    const log = openSync(join(root, 'server.log'), 'a');
    server = spawn(SERVER, ['all'], { env, stdio: ['ignore', log, log] });
    closeSync(log);
    await eventually('the server is ready', async () => (await fetch(`${url}/readyz`)).ok);
  };
  await start();
  return {
    url,
    once,
    root,
    shop: (text) => postgres.sql('shop', 'shop', text),
    record: (text) => postgres.sql('postgres', 'ade_record', text),
    log: () => readFileSync(join(root, 'server.log'), 'utf8'),
    start,
    kill: () => gone(server, 'SIGKILL'),
    stop: async () => {
      await gone(server, 'SIGTERM');
      await gone(postgres.child, 'SIGINT');
      rmSync(root, { recursive: true, force: true });
    },
  };
}
