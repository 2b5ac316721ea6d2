// Keeps 100 files of 16 KiB on the memory file system for as long as it runs, and answers when they are
// there. Anyone may write beside them, so what lies there already is removed and never followed.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const { PORT, FILES } = process.env;
rmSync(FILES, { recursive: true, force: true });
mkdirSync(FILES, { mode: 0o700 });
for (let n = 0; n < 100; n += 1) writeFileSync(`${FILES}/${n}`, "x".repeat(16 << 10), { flag: "wx" });
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => {
    rmSync(FILES, { recursive: true, force: true });
    process.exit(0);
  });
}
createServer((_request, response) => response.end("there\n")).listen(Number(PORT), "127.0.0.1");
