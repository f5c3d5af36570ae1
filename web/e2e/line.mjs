// Proxy between browsers and the server that tests can cut. It forwards bytes and inspects only the
// first ones, to distinguish sockets from requests.
import { connect, createServer } from 'node:net';

const SOCKET = 'GET /v1/ws?';

export async function startLine() {
  const open = new Set();
  const sockets = new Set();
  let isCut = false;
  let port = 0;
  const line = createServer((near) => {
    open.add(near);
    near.on('error', () => near.destroy());
    near.once('close', () => open.delete(near));
    near.once('data', (first) => {
      if (first.subarray(0, SOCKET.length).equals(Buffer.from(SOCKET))) {
        if (isCut) return near.destroy();
        sockets.add(near);
        near.once('close', () => sockets.delete(near));
      }
      const far = connect(port, '127.0.0.1');
      far.on('error', () => near.destroy());
      far.once('close', () => near.destroy());
      near.once('close', () => far.destroy());
      far.write(first);
      near.pipe(far);
      far.pipe(near);
    });
  });
  await new Promise((resolve) => line.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${line.address().port}`,
    lead: (to) => {
      port = to;
    },
    /** While `isOn`, closes all open sockets and refuses new ones. */
    cut: (isOn) => {
      isCut = isOn;
      if (isOn) for (const socket of sockets) socket.destroy();
    },
    stop: () =>
      new Promise((resolve) => {
        line.close(resolve);
        for (const one of open) one.destroy();
      }),
  };
}
