// Prints the jobs per second that BullMQ adds and completes:
// node bullmq.mjs <port> <jobs> <callers>
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { Queue, Worker } = require("bullmq");

const [port, jobs, callers] = process.argv.slice(2).map(Number);
const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
const name = `bench-${process.pid}`;
const queue = new Queue(name, { connection });
let done = 0;
let next = 0;
const began = performance.now();
const ended = new Promise((resolve) => {
  const worker = new Worker(name, async () => {}, { connection, concurrency: callers });
  worker.on("completed", () => {
    if (++done === jobs) resolve(worker);
  });
});

async function caller() {
  while (next < jobs) {
    await queue.add("change", { number: next++ });
  }
}

await Promise.all(Array.from({ length: callers }, caller));
const worker = await ended;
console.log(jobs / ((performance.now() - began) / 1_000));
await worker.close();
await queue.close();
