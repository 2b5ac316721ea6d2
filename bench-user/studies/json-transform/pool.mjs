// Transforms RECORDS lines on two workers. This thread reads, hands buffers over (none is copied) and
// writes what comes back; each worker has at most two buffers waiting.
import { openSync, writeSync } from "node:fs";
import process from "node:process";
import { Worker } from "node:worker_threads";
import { chunks } from "./lines.mjs";

const WORKERS = 2;
const WAITING = 2;
const records = Number(process.env.RECORDS);
const out = openSync("/dev/null", "w");
const source = chunks("records.jsonl", records);
let seen = 0;
let size = 0;
let busy = 0;

function feed(worker) {
  const { value: chunk, done } = source.next();
  if (done) return;
  busy += 1;
  worker.postMessage({ buffer: chunk.buffer, length: chunk.length }, [chunk.buffer]);
}

for (let n = 0; n < WORKERS; n += 1) {
  const worker = new Worker(new URL("./worker.mjs", import.meta.url));
  worker.on("error", (error) => {
    console.error(error);
    process.exit(1);
  });
  worker.on("message", ({ bytes, count }) => {
    writeSync(out, bytes);
    seen += count;
    size += bytes.length;
    busy -= 1;
    feed(worker);
    if (busy > 0) return;
    console.log(`${seen} records, ${size} bytes`);
    process.exit(seen === records ? 0 : 1);
  });
  for (let waiting = 0; waiting < WAITING; waiting += 1) feed(worker);
}
