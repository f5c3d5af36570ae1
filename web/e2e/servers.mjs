// Starts PostgreSQL and a single-node Redis Cluster in their own directory.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, freePort, gone } from './wait.mjs';

const ask = promisify(execFile);

const ROLES = `
CREATE ROLE ade_app; CREATE ROLE ade_worker;
CREATE ROLE ade_owner LOGIN; CREATE ROLE shop LOGIN; CREATE ROLE shop_preview LOGIN;
CREATE ROLE ade_api LOGIN IN ROLE ade_app;
CREATE ROLE ade_work LOGIN IN ROLE ade_app, ade_worker;`;

/** Debian installs the PostgreSQL programs outside PATH, in one directory per version. */
const PACKAGED = '/usr/lib/postgresql';

function postgresHome() {
  if (process.env.ADE_POSTGRES_BIN) return process.env.ADE_POSTGRES_BIN;
  const versions = existsSync(PACKAGED) ? readdirSync(PACKAGED).map(Number) : [];
  if (versions.length > 0) return join(PACKAGED, `${Math.max(...versions)}`, 'bin');
  return execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
}

/** PostgreSQL refuses to run as root; in that case it runs as its own user. */
function unprivileged(directory) {
  if (process.getuid?.() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const [uid, gid] = [id('-u'), id('-g')];
  chownSync(directory, uid, gid);
  return { uid, gid };
}

export async function startPostgres(root) {
  const bin = postgresHome();
  const directory = join(root, 'pg');
  mkdirSync(directory, { recursive: true });
  chmodSync(root, 0o755);
  const user = unprivileged(directory);
  const port = await freePort();
  const run = { ...user, cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] };
  const begin = ['-D', directory, '-A', 'trust', '-U', 'postgres', '-k', '--no-sync'];
  execFileSync(join(bin, 'initdb'), begin, run);
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
  const sql = async (role, name, text) => {
    const psql = ask('psql', ['-qXAt', '-v', 'ON_ERROR_STOP=1', url(role, name)]);
    psql.child.stdin.end(text);
    return (await psql).stdout.trim();
  };
  await eventually('postgres responds', () => {
    execFileSync(join(bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]);
    return true;
  });
  await sql('postgres', 'postgres', ROLES);
  await sql('postgres', 'postgres', 'CREATE DATABASE ade_record OWNER ade_owner');
  await sql('postgres', 'postgres', 'CREATE DATABASE shop OWNER shop');
  await sql('postgres', 'postgres', 'CREATE DATABASE shop_preview OWNER shop_preview');
  return { url, sql, stop: () => gone(child, 'SIGINT') };
}

export async function startRedis(root) {
  const directory = join(root, 'redis');
  mkdirSync(directory);
  const [port, bus] = [await freePort(), await freePort()];
  const settings = {
    port,
    'cluster-port': bus,
    bind: '127.0.0.1',
    dir: directory,
    save: '',
    'cluster-enabled': 'yes',
    'cluster-announce-ip': '127.0.0.1',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const child = spawn('redis-server', flags, { stdio: 'ignore' });
  const cli = (...words) =>
    execFileSync('redis-cli', ['-p', `${port}`, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  await eventually('redis responds', () => cli('PING').startsWith('PONG'));
  cli('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await eventually('the cluster serves', () => cli('CLUSTER', 'INFO').includes('state:ok'));
  return { url: `redis://127.0.0.1:${port}`, stop: () => gone(child, 'SIGTERM') };
}
