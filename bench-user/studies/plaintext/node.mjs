import { createServer } from "node:http";

const body = "Hello, World!";
const headers = { "Content-Type": "text/plain", "Content-Length": body.length };

createServer((_request, response) => {
  response.writeHead(200, headers);
  response.end(body);
}).listen(Number(process.env.PORT), "127.0.0.1");
