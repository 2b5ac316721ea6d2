// Keeps 100 files of 16 KiB on the memory file system for as long as it runs, and answers when they are
// there.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const { PORT, FILES } = process.env;
mkdirSync(FILES, { recursive: true });
for (let n = 0; n < 100; n += 1) writeFileSync(`${FILES}/${n}`, "x".repeat(16 << 10));
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => {
    rmSync(FILES, { recursive: true, force: true });
    process.exit(0);
  });
}
createServer((_request, response) => response.end("there\n")).listen(Number(PORT), "127.0.0.1");
