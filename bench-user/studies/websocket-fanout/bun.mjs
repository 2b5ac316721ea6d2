import { pace } from "./pace.mjs";

const { PORT, INTERVAL_MS = "0" } = process.env;
const message = "x".repeat(64);
const clients = new Set();

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(PORT),
  fetch(request, server) {
    if (!server.upgrade(request)) return new Response("a WebSocket is wanted\n", { status: 426 });
  },
  websocket: {
    open(client) {
      client.subscribe("feed");
      clients.add(client);
      begin();
    },
    close(client) {
      clients.delete(client);
    },
    message() {},
  },
});
// One call for all: the fan-out is Bun's own.
const begin = pace(
  Number(INTERVAL_MS),
  clients,
  (client) => client.getBufferedAmount(),
  () => server.publish("feed", message),
);
