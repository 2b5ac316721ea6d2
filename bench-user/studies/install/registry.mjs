// A registry that serves what packages.mjs made, from memory.
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const files = new Map(readdirSync("registry").map((name) => [name, readFileSync(`registry/${name}`)]));

createServer((request, response) => {
  const path = decodeURIComponent(request.url.split("?")[0]).slice(1);
  const [name, , archive] = path.split("/");
  const file = files.get(archive ?? `${name}.json`);
  if (path === "") return response.end("there\n");
  if (!file) return response.writeHead(404).end("{}");
  const type = archive ? "application/octet-stream" : "application/json";
  response.writeHead(200, { "content-type": type, "content-length": file.length });
  response.end(file);
}).listen(Number(process.env.PORT), "127.0.0.1");
