// Transforms RECORDS lines on one thread; ends with an error where it did not see all of them.
import { openSync, writeSync } from "node:fs";
import process from "node:process";
import { chunks, transformAll } from "./lines.mjs";

const records = Number(process.env.RECORDS);
const out = openSync("/dev/null", "w");
let seen = 0;
let size = 0;
for (const chunk of chunks("records.jsonl", records)) {
  const { bytes, count } = transformAll(chunk);
  writeSync(out, bytes);
  seen += count;
  size += bytes.length;
}
console.log(`${seen} records, ${size} bytes`);
process.exit(seen === records ? 0 : 1);
