// The proxy in Node. BUFFER=1: it answers when it has the whole stream. NODELAY=0: the client's
// connections keep Nagle's algorithm, which Node turns off by itself.
import { createServer, request as ask } from "node:http";

const { PORT, UPSTREAM, BUFFER, NODELAY = "1" } = process.env;
const headers = { "Content-Type": "text/event-stream" };

createServer({ noDelay: NODELAY === "1" }, (request, response) => {
  const upstream = ask(new URL(request.url, UPSTREAM), (stream) => {
    if (!BUFFER) {
      response.writeHead(stream.statusCode, headers);
      stream.pipe(response);
      return;
    }
    const chunks = [];
    stream.on("data", (chunk) => chunks.push(chunk));
    stream.on("end", () => response.writeHead(stream.statusCode, headers).end(Buffer.concat(chunks)));
  });
  upstream.on("error", () => response.destroy());
  // A client that leaves has no more use for its stream.
  response.on("close", () => upstream.destroy());
  upstream.end();
}).listen({ port: Number(PORT), host: "127.0.0.1", backlog: 4096 });
