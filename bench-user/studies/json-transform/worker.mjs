// One worker of the pool.
import { parentPort } from "node:worker_threads";
import { transformAll } from "./lines.mjs";

parentPort.on("message", ({ buffer, length }) => {
  const { bytes, count } = transformAll(new Uint8Array(buffer, 0, length));
  parentPort.postMessage({ bytes, count }, [bytes.buffer]);
});
