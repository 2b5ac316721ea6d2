// Writes records.jsonl: 250,000 requests of a gateway, about 200 MB, the same on every machine.
import { closeSync, openSync, writeSync } from "node:fs";

const RECORDS = 250_000;
const WORDS = (
  "the model answers with a token and then another one while the client waits for the stream to end " +
  "because every request passes through a gateway that counts what it costs and who asked for it \u00fcber"
).split(" ");
const MODELS = ["small-2", "large-4", "code-1", "vision-3"];
const REGIONS = ["eu-west", "us-east", "ap-south"];

let state = 0x2545f491;
const random = (below) => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % below;
};
const text = (words) => {
  let said = WORDS[random(WORDS.length)];
  for (let n = 1; n < words; n += 1) said += " " + WORDS[random(WORDS.length)];
  return said;
};

const record = (id) => ({
  id: `req-${id}`,
  at: 1_760_000_000_000 + id * 37,
  model: MODELS[random(MODELS.length)],
  user: { id: random(50_000), region: REGIONS[random(REGIONS.length)], tier: random(3) },
  messages: [
    { role: "system", content: text(20) },
    { role: "user", content: text(20 + random(50)) },
    { role: "assistant", content: text(20 + random(30)) },
  ],
  usage: { prompt: random(4000), completion: random(2000), cached: random(1000) },
  tags: [text(1), text(1), text(1)],
  latency_ms: random(90_000) / 10,
  ok: random(50) !== 0,
});

const out = openSync("records.jsonl", "w");
let lines = "";
for (let id = 0; id < RECORDS; id += 1) {
  lines += JSON.stringify(record(id)) + "\n";
  if (lines.length > 4 << 20) {
    writeSync(out, lines);
    lines = "";
  }
}
writeSync(out, lines);
closeSync(out);
