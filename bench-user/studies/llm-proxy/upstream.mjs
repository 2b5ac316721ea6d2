// The model: every request for `/stream` gets TOKENS tokens as server-sent events, one every GAP_MS.
// With PAUSE_AFTER it falls silent for PAUSE_MS after so many tokens.
import { createServer } from "node:http";

const { PORT, TOKENS = "500", GAP_MS = "20", TOKEN_BYTES = "4", PAUSE_AFTER, PAUSE_MS = "0" } = process.env;
const tokens = Number(TOKENS);
const gap = Number(GAP_MS);

// What a chat completion sends for a word.
const event = Buffer.from(
  `data: ${JSON.stringify({
    id: "chatcmpl-0",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { content: "x".repeat(Number(TOKEN_BYTES)) }, finish_reason: null }],
  })}\n\n`,
);

const streams = new Set();

// A token is due by the clock, counted from the begin of its stream: one that is sent late does not
// make the next ones late, as a chain of timers would.
setInterval(() => {
  const now = performance.now();
  for (const stream of streams) {
    while (stream.due <= now && streams.has(stream)) send(stream);
  }
}, 1);

function send(stream) {
  stream.response.write(event);
  stream.sent += 1;
  stream.due += stream.sent === Number(PAUSE_AFTER) ? Number(PAUSE_MS) : gap;
  if (stream.sent < tokens) return;
  streams.delete(stream);
  stream.response.end();
}

createServer((request, response) => {
  if (request.url !== "/stream") return response.end("ready\n");
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const stream = { response, sent: 0, due: performance.now() };
  streams.add(stream);
  response.on("close", () => streams.delete(stream));
  send(stream);
}).listen({ port: Number(PORT), host: "127.0.0.1", backlog: 4096 });
