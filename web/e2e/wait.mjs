// Helpers to allocate ports and to wait, for everything that starts servers.
import { createServer } from 'node:net';

/** Below the ephemeral port range, so that no port is taken between check and bind; each test
 *  worker has its own range. */
const FIRST = 10_100;
const EACH = 1_300;
let next = Math.floor(Math.random() * EACH);

function isFree(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/** Returns a free port that is not handed out again. */
export async function freePort() {
  const own = FIRST + EACH * (Number(process.env.VITEST_POOL_ID ?? 0) % 2);
  for (let tries = 0; tries < EACH; tries += 1) {
    next = (next + 1) % EACH;
    if (await isFree(own + next)) return own + next;
  }
  throw new Error('no free port');
}

/** Polls until the result is truthy; otherwise the error names the condition. */
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

/** Ends a process and waits for its exit. */
export function gone(child, signal) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', resolve);
    child.kill(signal);
  });
}
