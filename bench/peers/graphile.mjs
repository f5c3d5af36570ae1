// Prints the jobs per second that graphile-worker adds and completes:
// node graphile.mjs <url of the database> <jobs> <callers>
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { Logger, makeWorkerUtils, run } = require("graphile-worker");

const [connectionString, jobs, callers] = process.argv.slice(2);
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ connectionString, logger });
await utils.migrate();
let done = 0;
let next = 0;
let finish;
const ended = new Promise((resolve) => (finish = resolve));
const task = async () => {
  if (++done === Number(jobs)) finish();
};
const began = performance.now();
const runner = await run({
  connectionString,
  logger,
  concurrency: Number(callers),
  maxPoolSize: Number(callers) + 2,
  taskList: { change: task },
});

async function caller() {
  while (next < Number(jobs)) {
    await utils.addJob("change", { number: next++ });
  }
}

await Promise.all(Array.from({ length: Number(callers) }, caller));
await ended;
console.log(Number(jobs) / ((performance.now() - began) / 1_000));
await runner.stop();
await utils.release();
