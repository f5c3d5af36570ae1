// Ports and patience, for everything that starts servers.
import { createServer } from 'node:net';

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

/** Ends a process and waits until it has. */
export function gone(child, signal) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', resolve);
    child.kill(signal);
  });
}
