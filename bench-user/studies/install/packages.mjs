// Makes the packages that the registry serves, the same on every machine: registry/NAME.json (what a
// registry says of a package) and registry/NAME-VERSION.tgz, the trees that depend on them, and a
// folder for the project of each package manager.
//
// Their shape is that of a front end's tree: 60 direct dependencies, ten levels, most packages small
// and needed by a few others, some needed by very many, and 100 of them in two versions of which one
// has to be nested. `medium` and `small` are trees of some of them.
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LEVELS = [60, 120, 220, 320, 350, 300, 200, 120, 60, 20];
const TWICE = 100;
const URL = "http://127.0.0.1:18620";
const WORDS = "const value require module exports function return index option parse string object".split(" ");

let state = 0x9e3779b9;
const random = (below) => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % below;
};
const source = (bytes) => {
  let text = "'use strict';\n";
  while (text.length < bytes) text += `${WORDS[random(WORDS.length)]}${random(1000)} `;
  return `// ${text}\n`;
};

// One entry of a tar archive (ustar).
function entry(path, text) {
  const body = Buffer.from(text);
  const head = Buffer.alloc(512);
  const octal = (n, length) => n.toString(8).padStart(length - 1, "0") + "\0";
  head.write(`package/${path}`, 0);
  head.write(octal(0o644, 8) + octal(0, 8) + octal(0, 8) + octal(body.length, 12) + octal(499162500, 12), 100);
  head.write("        0", 148);
  head.write("ustar\0" + "00", 257);
  head.write(octal(head.reduce((sum, byte) => sum + byte, 0), 7) + " ", 148);
  return [head, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
}

function files(manifest) {
  const all = [["package.json", JSON.stringify(manifest, null, 2)]];
  all.push(["index.js", source(500 + random(3000))], ["README.md", source(300 + random(1500))]);
  all.push(["LICENSE", source(1000)], ["index.d.ts", source(200 + random(800))]);
  for (let n = random(8); n > 0; n -= 1) all.push([`lib/part-${n}.js`, source(300 + random(2500))]);
  return all;
}

const packuments = new Map();

function publish(name, version, dependencies) {
  const manifest = { name, version, main: "index.js", license: "MIT", dependencies };
  const parts = files(manifest).flatMap(([path, text]) => entry(path, text));
  const archive = gzipSync(Buffer.concat([...parts, Buffer.alloc(1024)]), { level: 6 });
  const file = `${name}-${version}.tgz`;
  writeFileSync(`registry/${file}`, archive);
  const hash = (kind, as) => createHash(kind).update(archive).digest(as);
  const dist = {
    tarball: `${URL}/${name}/-/${file}`,
    integrity: `sha512-${hash("sha512", "base64")}`,
    shasum: hash("sha1", "hex"),
  };
  const at = "2026-01-01T00:00:00.000Z";
  const known = packuments.get(name) ?? { name, "dist-tags": {}, versions: {}, time: { created: at } };
  known["dist-tags"].latest = version;
  known.versions[version] = { ...manifest, dist };
  known.time[version] = known.time.modified = at;
  packuments.set(name, known);
}

rmSync("registry", { recursive: true, force: true });
mkdirSync("registry");

const names = LEVELS.map((count, level) =>
  Array.from({ length: count }, (_, n) => `${WORDS[n % WORDS.length]}-${level}-${n}`),
);
const old = new Set();
for (let n = 0; n < TWICE; n += 1) old.add(names[4 + (n % 3)][n]);

// The deepest first; who is needed is of a deeper level, and mostly of the next.
for (let level = LEVELS.length - 1; level >= 0; level -= 1) {
  names[level].forEach((name, n) => {
    const needs = {};
    const below = names.slice(level + 1);
    if (below.length > 0) {
      // Each one of the next level is needed by one of this at least.
      for (let at = n; at < below[0].length; at += names[level].length) needs[below[0][at]] = "^2.0.0";
      for (let more = random(4); more > 0; more -= 1) {
        const deeper = below[Math.min(random(3) * random(2), below.length - 1)];
        // A few are needed by very many.
        const which = random(3) === 0 ? random(Math.min(8, deeper.length)) : random(deeper.length);
        const wants = deeper[which];
        needs[wants] = old.has(wants) && random(4) === 0 ? "^1.0.0" : (needs[wants] ?? "^2.0.0");
      }
    }
    if (old.has(name)) publish(name, `1.${random(20)}.0`, {});
    publish(name, `2.${random(20)}.${random(10)}`, needs);
  });
}
for (const [name, known] of packuments) writeFileSync(`registry/${name}.json`, JSON.stringify(known));

for (const [project, direct] of [["full", names[0]], ["medium", names[4].slice(0, 30)], ["small", names[6].slice(0, 20)]]) {
  const dependencies = Object.fromEntries(direct.map((name) => [name, "^2.0.0"]));
  mkdirSync(`trees/${project}`, { recursive: true });
  const manifest = { name: "project", version: "1.0.0", private: true, dependencies };
  writeFileSync(`trees/${project}/package.json`, JSON.stringify(manifest, null, 2));
}
for (const tool of ["npm", "pnpm", "bun"]) mkdirSync(`projects/${tool}`, { recursive: true });
