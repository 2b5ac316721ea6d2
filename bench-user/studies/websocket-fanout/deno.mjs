import { pace } from "./pace.mjs";

const PORT = Number(Deno.env.get("PORT"));
const INTERVAL_MS = Number(Deno.env.get("INTERVAL_MS") ?? 0);
const message = "x".repeat(64);
const clients = new Set();

const begin = pace(
  INTERVAL_MS,
  clients,
  (client) => client.bufferedAmount,
  () => {
    for (const client of clients) client.send(message);
  },
);
Deno.serve({ hostname: "127.0.0.1", port: PORT }, (request) => {
  if (request.headers.get("upgrade") !== "websocket") {
    return new Response("a WebSocket is wanted\n", { status: 426 });
  }
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onopen = () => {
    clients.add(socket);
    begin();
  };
  socket.onclose = () => clients.delete(socket);
  // A client that is gone; its close follows.
  socket.onerror = () => {};
  return response;
});
