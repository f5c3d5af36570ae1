// Prints the acquire and release pairs per second of npm's redlock:
// node redlock.mjs <port> <tag> <pairs> <callers>
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const Redis = require("ioredis");
const { default: Redlock } = require("redlock");

const [port, tag, pairs, callers] = process.argv.slice(2);
const client = new Redis(Number(port), "127.0.0.1");
const redlock = new Redlock([client], { retryCount: 0 });
let next = 0;

async function caller() {
  while (next < Number(pairs)) {
    const number = next++;
    const lock = await redlock.acquire([`{${tag}}:redlock:${number}`], 30_000);
    await lock.release();
  }
}

const began = performance.now();
await Promise.all(Array.from({ length: Number(callers) }, caller));
console.log(Number(pairs) / ((performance.now() - began) / 1_000));
await client.quit();
