// Fifty slow files for as long as it runs: named pipes whose writer opens them 100 ms after the last
// read and writes 16 KiB. Whoever reads one waits in open(2) and read(2), as on a slow network file
// system; no time-out or signal helps its thread.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";

const { PORT, SLOW } = process.env;
const FILES = 50;
rmSync(SLOW, { recursive: true, force: true });
mkdirSync(SLOW, { recursive: true });
const paths = Array.from({ length: FILES }, (_, n) => `${SLOW}/${n}`);
const made = spawnSync("mkfifo", paths);
if (made.status !== 0) throw new Error(`mkfifo: ${made.error ?? made.stderr}`);
const write = 'while :; do sleep 0.1; head -c 16384 /dev/zero > "$0"; done';
const writers = paths.map((path) => spawn("sh", ["-c", write, path], { stdio: "ignore" }));
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => {
    for (const writer of writers) writer.kill("SIGKILL");
    rmSync(SLOW, { recursive: true, force: true });
    process.exit(0);
  });
}
createServer((_request, response) => response.end("there\n")).listen(Number(PORT), "127.0.0.1");
