// The complete test world: people, identity provider, server stack and proxy.
import { startDirectory } from './directory.mjs';
import { startLine } from './line.mjs';
import { PEOPLE, seedPeople } from './seed.mjs';
import { startStack } from './stack.mjs';

/** `more` are accounts at the identity provider without a person in the tenant. */
export async function startWorld(more = []) {
  const directory = await startDirectory([...Object.values(PEOPLE), ...more]);
  const line = await startLine();
  const stop = [directory.stop, line.stop];
  const end = async () => {
    for (const part of stop.toReversed()) await part();
  };
  try {
    const stack = await startStack({
      more: () => ({ ADE__NOTIFY__PAGE: line.url, ...directory.settings }),
    });
    stop.push(stack.stop);
    line.lead(stack.port);
    const people = await seedPeople(stack, directory.issuer);
    return { stack, people, issuer: directory.issuer, home: line.url, cut: line.cut, stop: end };
  } catch (error) {
    await end();
    throw error;
  }
}
