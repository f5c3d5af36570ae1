// Ports and patience, for everything that starts servers.
import { createServer } from 'node:net';

/** Below the ports that the system gives to whoever asks for any, so that none is taken between the
 *  look and the bind; each worker of the tests has its own. */
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

/** A port that nothing listens on now, and that is given to nobody else. */
export async function freePort() {
  const own = FIRST + EACH * (Number(process.env.VITEST_POOL_ID ?? 0) % 2);
  for (let tries = 0; tries < EACH; tries += 1) {
    next = (next + 1) % EACH;
    if (await isFree(own + next)) return own + next;
  }
  throw new Error('no port is free');
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

/** Ends a process and waits until it has. */
export function gone(child, signal) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', resolve);
    child.kill(signal);
  });
}
