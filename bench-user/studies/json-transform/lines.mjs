// What is done to each line, and to a buffer of whole lines; the same code in every runtime and in
// both programs.
import { closeSync, openSync, readSync } from "node:fs";

const CHUNK = 1 << 20;
const decoder = new TextDecoder();
const encoder = new TextEncoder();

// Price of a token by model, in millionths.
const PRICES = { "small-2": 1, "large-4": 12, "code-1": 5, "vision-3": 9 };

function transform(record) {
  const { prompt, completion, cached } = record.usage;
  const fresh = Math.max(prompt - cached, 0);
  return {
    id: record.id,
    day: Math.floor(record.at / 86_400_000),
    model: record.model.toUpperCase(),
    user: `${record.user.region}/${record.user.id}`,
    tier: record.user.tier,
    turns: record.messages.map(({ role, content }) => ({
      role,
      words: content.split(" ").length,
      content: content.slice(0, 200),
    })),
    tokens: { fresh, cached, completion, all: prompt + completion },
    cost: (fresh + completion) * PRICES[record.model],
    tags: [...new Set(record.tags)].sort(),
    slow: record.latency_ms > 5000,
    ok: record.ok,
  };
}

// Parses, transforms and serialises each line; gives the lines as bytes and how many they are.
export function transformAll(bytes) {
  const lines = decoder.decode(bytes).split("\n");
  let out = "";
  let count = 0;
  for (const line of lines) {
    if (line.length === 0) continue;
    out += JSON.stringify(transform(JSON.parse(line))) + "\n";
    count += 1;
  }
  return { bytes: encoder.encode(out), count };
}

// Buffers of whole lines, about a MiB each, until so many lines are read.
export function* chunks(path, records) {
  const file = openSync(path, "r");
  let rest = new Uint8Array(0);
  let left = records;
  while (left > 0) {
    const buffer = new Uint8Array(rest.length + CHUNK);
    buffer.set(rest);
    const read = readSync(file, buffer, rest.length, CHUNK, null);
    if (read === 0) throw new Error(`${path} has ${left} records less than ${records}`);
    const end = rest.length + read;
    let until = 0;
    for (let at = 0; left > 0 && (at = buffer.indexOf(10, at) + 1) > 0 && at <= end; ) {
      until = at;
      left -= 1;
    }
    rest = buffer.slice(until, end);
    if (until > 0) yield buffer.subarray(0, until);
  }
  closeSync(file);
}
