// PostgreSQL, Redis and the real server binary for tests and the demo, in one temporary directory.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPostgres, startRedis } from './servers.mjs';
import { eventually, freePort, gone } from './wait.mjs';

const TARGET = fileURLToPath(new URL('../../target', import.meta.url));
export const SERVER =
  process.env.ADE_SERVER_BIN ?? join(process.env.CARGO_TARGET_DIR ?? TARGET, 'debug', 'ade-server');
/** Raised limits: one test agent does the work of many. */
const RATES = ['TOKEN', 'ENDPOINT', 'SUBMIT', 'SUBMIT_OWNER', 'SUBMIT_TENANT'];
const TOKEN = /ade_(usr|agt|ses)_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}/;

function settings(root, postgres, redis, port) {
  const pepper = join(root, 'pepper');
  writeFileSync(pepper, randomBytes(32), { mode: 0o600 });
  return {
    PATH: process.env.PATH,
    ADE__SERVER__LISTEN: `127.0.0.1:${port}`,
    ADE__AUTH__PEPPER_FILE: pepper,
    ADE__RECEIPTS__KEY_FILES: join(root, 'receipts.pem'),
    ADE__DATABASE__OWNER_URL: postgres.url('ade_owner', 'ade_record'),
    ADE__DATABASE__URL: postgres.url('ade_api', 'ade_record'),
    ADE__DATABASE__WORKER_URL: postgres.url('ade_work', 'ade_record'),
    ADE__REDIS__URLS: redis.url,
    ADE__PREVIEW__TARGETS__SHOP__URL: postgres.url('shop_preview', 'shop_preview'),
    ADE__PREVIEW__TARGETS__SHOP__KIND: 'copy',
    ADE__PREVIEW__TARGETS__SHOP__TENANTS: 'acme',
    ...Object.fromEntries(
      RATES.flatMap((rate) => [
        [`ADE__RATES__${rate}__PER_MINUTE`, '1000000'],
        [`ADE__RATES__${rate}__BURST`, '100000'],
      ]),
    ),
  };
}

/** Creates a tenant and returns the token of its first admin. */
function tenantOf(env, name) {
  const output = execFileSync(SERVER, ['migrate', '--bootstrap', name], { env, encoding: 'utf8' });
  const once = /ade_usr_\S+/.exec(output)?.[0];
  if (!once) throw new Error('migrate printed no token');
  return once;
}

/** A server that can be killed and restarted with its data. */
function serverOf(env, root, url) {
  const file = join(root, 'server.log');
  const log = () => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  let child;
  return {
    log,
    start: async () => {
      const out = openSync(file, 'a');
      child = spawn(SERVER, ['all'], { env, stdio: ['ignore', out, out] });
      closeSync(out);
      await eventually('the server is ready', async () => (await fetch(`${url}/readyz`)).ok).catch(
        (error) => {
          throw new Error(`${error.message}; server log:\n${log().slice(-2_000)}`);
        },
      );
    },
    end: async (signal) => {
      if (child) await gone(child, signal);
    },
  };
}

/** Starts everything; `stop` ends it and removes its files. `more` adds settings that depend on the
 *  address of the server. */
export async function startStack({ more = () => ({}) } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'ade-web-'));
  const ends = [() => rmSync(root, { recursive: true, force: true })];
  let said = '';
  const stop = async () => {
    for (const end of ends.toReversed()) await end();
    if (TOKEN.test(said)) throw new Error('the server log contains a token');
  };
  try {
    const postgres = await startPostgres(root);
    ends.push(postgres.stop);
    const redis = await startRedis(root);
    ends.push(redis.stop);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const env = { ...settings(root, postgres, redis, port), ...more(url) };
    const server = serverOf(env, root, url);
    ends.push(async () => {
      await server.end('SIGTERM');
      said = server.log();
    });
    execFileSync(SERVER, ['keys', 'new', join(root, 'receipts.pem')], { env });
    const once = tenantOf(env, 'acme');
    await server.start();
    return {
      url,
      port,
      once,
      tenant: (name) => tenantOf(env, name),
      // The same statements run on the preview copy, so that both stay equal.
      shop: async (text) => {
        await postgres.sql('shop_preview', 'shop_preview', text);
        return postgres.sql('shop', 'shop', text);
      },
      record: (text) => postgres.sql('postgres', 'ade_record', text),
      log: server.log,
      start: server.start,
      kill: () => server.end('SIGKILL'),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
