import { WebSocketServer } from "ws";
import { pace } from "./pace.mjs";

const { PORT, INTERVAL_MS = "0" } = process.env;
const message = Buffer.from("x".repeat(64));

const server = new WebSocketServer({ host: "127.0.0.1", port: Number(PORT), backlog: 4096 });
const begin = pace(
  Number(INTERVAL_MS),
  server.clients,
  (client) => client.bufferedAmount,
  () => {
    for (const client of server.clients) client.send(message, { binary: false });
  },
);
server.on("connection", (client) => {
  client.on("error", () => client.terminate());
  begin();
});
