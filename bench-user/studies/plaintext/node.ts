import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

const body: string = "Hello, World!";
const headers: Record<string, string | number> = {
  "Content-Type": "text/plain",
  "Content-Length": body.length,
};

createServer((_request: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(200, headers);
  response.end(body);
}).listen(Number(process.env.PORT), "127.0.0.1");
