// Fifty slow files for as long as it runs: a read-only FUSE file system of its own in the folder SLOW,
// whose files of 16 KiB answer every read after 100 ms and are never in the page cache. Whoever reads
// one waits in read(2), as on a network file system that does not answer.
//
// Speaks the kernel's protocol itself (linux/fuse.h, version 7.31), because what npm has for it is
// no longer kept: what is not needed to open and read a file is answered with ENOSYS. Needs root.
import { spawn } from "node:child_process";
import { mkdirSync, openSync, read, rmdirSync, writeSync } from "node:fs";
import { createServer } from "node:http";

const { PORT, SLOW } = process.env;
const FILES = 50;
const SIZE = 16384;
const DELAY_MS = 100;

const [ENOENT, ENOSYS] = [2, 38];
const FOREVER_S = 1_000_000n;
const [ROOT, FIRST_FILE] = [1n, 2n];
const FOPEN_DIRECT_IO = 1;

const device = openSync("/dev/fuse", "r+");

// struct fuse_out_header, then what the answer holds; in one write, as the kernel wants it.
const answer = (unique, body, error = 0) => {
  const header = Buffer.alloc(16);
  header.writeUInt32LE(16 + body.length, 0);
  header.writeInt32LE(-error, 4);
  header.writeBigUInt64LE(unique, 8);
  try {
    writeSync(device, Buffer.concat([header, body]));
  } catch (error) {
    // Whoever asked has been killed meanwhile.
    if (error.code !== "ENOENT") throw error;
  }
};

// struct fuse_attr
const attributes = (node) => {
  const attr = Buffer.alloc(88);
  attr.writeBigUInt64LE(node, 0);
  attr.writeBigUInt64LE(node === ROOT ? 0n : BigInt(SIZE), 8);
  attr.writeUInt32LE(node === ROOT ? 0o40555 : 0o100444, 60);
  attr.writeUInt32LE(1, 64);
  attr.writeUInt32LE(4096, 80);
  return attr;
};

// struct fuse_init_out
const init = () => {
  const out = Buffer.alloc(64);
  out.writeUInt32LE(7, 0);
  out.writeUInt32LE(31, 4);
  out.writeUInt16LE(2 * FILES, 16);
  out.writeUInt16LE(2 * FILES, 18);
  out.writeUInt32LE(4096, 20);
  out.writeUInt32LE(1, 24);
  return out;
};

// struct fuse_entry_out
const lookup = (name) => {
  const number = Number(name);
  if (!/^\d+$/.test(name) || number >= FILES) return undefined;
  const node = FIRST_FILE + BigInt(number);
  const head = Buffer.alloc(40);
  head.writeBigUInt64LE(node, 0);
  head.writeBigUInt64LE(FOREVER_S, 16);
  head.writeBigUInt64LE(FOREVER_S, 24);
  return Buffer.concat([head, attributes(node)]);
};

// struct fuse_attr_out
const getattr = (node) => {
  const head = Buffer.alloc(16);
  head.writeBigUInt64LE(FOREVER_S, 0);
  return Buffer.concat([head, attributes(node)]);
};

// struct fuse_open_out
const open = () => {
  const out = Buffer.alloc(16);
  out.writeUInt32LE(FOPEN_DIRECT_IO, 8);
  return out;
};

const NOTHING = Buffer.alloc(0);
const CONTENT = Buffer.alloc(SIZE, "slow ");

const handle = (request) => {
  const opcode = request.readUInt32LE(4);
  const unique = request.readBigUInt64LE(8);
  const node = request.readBigUInt64LE(16);
  const body = request.subarray(40);
  switch (opcode) {
    case 1: { // LOOKUP
      const entry = lookup(body.toString("latin1", 0, body.indexOf(0)));
      return entry ? answer(unique, entry) : answer(unique, NOTHING, ENOENT);
    }
    case 2: // FORGET
    case 36: // INTERRUPT
    case 42: // BATCH_FORGET
      return undefined;
    case 3: // GETATTR
      return answer(unique, getattr(node));
    case 14: // OPEN
      return answer(unique, open());
    case 15: { // READ
      const from = Number(body.readBigUInt64LE(8));
      const piece = CONTENT.subarray(from, from + body.readUInt32LE(16));
      // The read that finds the end of the file is none of the slow ones.
      if (piece.length === 0) return answer(unique, NOTHING);
      setTimeout(answer, DELAY_MS, unique, piece);
      return undefined;
    }
    case 17: // STATFS
      return answer(unique, Buffer.alloc(80));
    case 18: // RELEASE
    case 25: // FLUSH
      return answer(unique, NOTHING);
    case 26: // INIT
      return answer(unique, init());
    default:
      return answer(unique, NOTHING, ENOSYS);
  }
};

const buffer = Buffer.alloc(1 << 17);
const serve = () =>
  read(device, buffer, 0, buffer.length, null, (error, length) => {
    // EPERM: not mounted yet; ENODEV: unmounted, and nobody reads a file any more.
    if (error?.code === "EPERM") return setTimeout(serve, 5);
    if (error?.code === "ENODEV") return undefined;
    // ENOENT, EINTR: the request was taken back, another will come.
    if (error && !["ENOENT", "EINTR", "EAGAIN"].includes(error.code)) throw error;
    if (!error) handle(Buffer.from(buffer.subarray(0, length)));
    return serve();
  });

// Not spawnSync: these programs may look at the folder, which is for `serve` to answer.
const run = (command, args, then) => {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "inherit", device] });
  child.on("error", (error) => { throw error; });
  child.on("exit", then);
};

const there = createServer((_request, response) => response.end("there\n"));

const mount = () => {
  mkdirSync(SLOW, { recursive: true });
  const options = "fd=3,rootmode=40000,user_id=0,group_id=0,allow_other,ro,nosuid,nodev";
  run("mount", ["-i", "-t", "fuse", "-o", options, "slow-files", SLOW], (code) => {
    if (code !== 0) throw new Error(`mount: exit code ${code}`);
    there.listen(Number(PORT), "127.0.0.1");
  });
  serve();
};

// With no server and no read of the device there is nothing left to wait for, and Node ends.
const leave = () => {
  there.close();
  there.closeAllConnections();
  run("umount", ["-l", SLOW], () => rmdirSync(SLOW));
};
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, leave);

// What one that was killed left behind; fails where there is nothing.
const old = spawn("umount", ["-l", SLOW], { stdio: "ignore" });
old.on("error", (error) => { throw error; });
old.on("exit", mount);
