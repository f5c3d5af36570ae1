// Prints the acquire and release pairs per second of etcd locks:
// node etcd.mjs <port> <pairs> <callers>
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { Etcd3 } = require("etcd3");

const [port, pairs, callers] = process.argv.slice(2);
const client = new Etcd3({ hosts: `127.0.0.1:${port}` });
let next = 0;

async function caller() {
  while (next < Number(pairs)) {
    const number = next++;
    const lock = await client.lock(`bench/${process.pid}/${number}`).ttl(30).acquire();
    await lock.release();
  }
}

const began = performance.now();
await Promise.all(Array.from({ length: Number(callers) }, caller));
console.log(Number(pairs) / ((performance.now() - began) / 1_000));
client.close();
