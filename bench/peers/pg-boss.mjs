// Prints the jobs per second that pg-boss adds and completes:
// node pg-boss.mjs <url of the database> <jobs> <callers>
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const PgBoss = require("pg-boss");

const [connectionString, jobs, callers] = process.argv.slice(2);
const boss = new PgBoss({ connectionString, max: Number(callers) });
await boss.start();
const name = `bench-${process.pid}`;
await boss.createQueue(name);
let done = 0;
let next = 0;

async function adder() {
  while (next < Number(jobs)) {
    await boss.send(name, { number: next++ });
  }
}

// The worker of pg-boss polls at most twice a second, so this one fetches in a loop.
async function worker() {
  while (done < Number(jobs)) {
    const [job] = await boss.fetch(name);
    if (job === undefined) continue;
    await boss.complete(name, job.id);
    done += 1;
  }
}

const half = Math.max(1, Number(callers) / 2);
const began = performance.now();
await Promise.all([
  ...Array.from({ length: half }, adder),
  ...Array.from({ length: half }, worker),
]);
console.log(Number(jobs) / ((performance.now() - began) / 1_000));
await boss.stop({ graceful: false });
