// The whole of it: a stack, its people, and a page per person.
import { fileURLToPath } from 'node:url';
import { preview } from 'vite';
import { HEADERS, proxyTo } from '../dev/door.mjs';
import { sessionsOf } from '../dev/session.mjs';
import { seedPeople } from './seed.mjs';
import { freePort, startStack } from './stack.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Serves the built pages to one person. */
async function door(port, server, token, outDir) {
  const shown = await preview({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [sessionsOf(server, token)],
    build: { outDir },
    preview: {
      port,
      host: '127.0.0.1',
      strictPort: true,
      proxy: proxyTo(server, token),
      headers: HEADERS,
    },
  });
  const sockets = new Set();
  let isCut = false;
  shown.httpServer.prependListener('upgrade', (_request, socket) => {
    if (isCut) socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return {
    /** As if something between had cut all sockets, and went on doing so. */
    cut: (isOn) => {
      isCut = isOn;
      if (isOn) for (const socket of sockets) socket.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        shown.httpServer.closeAllConnections?.();
        shown.httpServer.close(resolve);
      }),
  };
}

/** `doors` maps a person to the port of their own page. */
export async function startWorld(doors = ['priya', 'lena', 'marc', 'bob', 'sam', 'nobody']) {
  const ports = Object.fromEntries(
    await Promise.all(doors.map(async (who) => [who, await freePort()])),
  );
  const at = (who) => `http://127.0.0.1:${ports[who]}`;
  const stack = await startStack({ origins: doors.map(at) });
  const open = {};
  try {
    const people = await seedPeople(stack);
    for (const who of doors) {
      open[who] = await door(ports[who], stack.url, people[who]?.token, 'target/pages');
    }
    return {
      stack,
      people,
      at,
      cut: (who, isOn) => open[who].cut(isOn),
      stop: async () => {
        await Promise.all(Object.values(open).map(({ close }) => close()));
        await stack.stop();
      },
    };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}
