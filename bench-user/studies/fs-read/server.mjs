// Reads files for its clients. GET /many reads 20 files of the memory file system at once, GET /file
// one of them, GET /ping none. With SLOW set, READERS endless readers of slow files run beside that,
// each on a file of its own.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const { PORT, FILES, SLOW } = process.env;
const READERS = 50;
const MANY = 20;
const FILE_COUNT = 100;

let turn = 0;
const next = () => {
  turn = (turn + 1) % FILE_COUNT;
  return readFile(`${FILES}/${turn}`);
};

const answers = {
  "/ping": async () => 0,
  "/file": async () => (await next()).length,
  "/many": async () => {
    const files = await Promise.all(Array.from({ length: MANY }, next));
    return files.reduce((total, file) => total + file.length, 0);
  },
};

const readForever = async (path) => {
  for (;;) await readFile(path);
};
if (SLOW) for (let n = 0; n < READERS; n += 1) readForever(`${SLOW}/${n}`);

createServer(async (request, response) => {
  const answer = answers[request.url];
  const bytes = answer ? await answer() : 0;
  response.writeHead(answer ? 200 : 404, { "Content-Type": "text/plain" });
  response.end(`${bytes}\n`);
}).listen(Number(PORT), "127.0.0.1");
