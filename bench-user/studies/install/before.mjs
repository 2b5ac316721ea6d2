// What comes before each measured install, in the project of one package manager:
// `before.mjs cold|warm PROGRAM ARGUMENTS`, which is the install itself.
//
// cold: neither packages nor cache are there. warm: the cache is. The lock file is there in both; where it
// or the warm cache is missing, the install is run once for it.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";

const [state, program, ...words] = process.argv.slice(2);
const { TREE, npm_config_registry: registry } = process.env;
const here = process.cwd();
const remove = (...names) => names.forEach((name) => rmSync(name, { recursive: true, force: true }));

// A project of another tree is begun anew.
if (!existsSync(".tree") || readFileSync(".tree", "utf8") !== TREE) {
  remove(...readdirSync("."));
  copyFileSync(`../../trees/${TREE}/package.json`, "package.json");
  // Where each of them keeps its cache.
  const cache = words.some((word) => word.includes("pnpm")) ? `cache-dir=${here}/cache\nstore-dir=${here}/store` : `cache=${here}/cache`;
  writeFileSync(".npmrc", `registry=${registry}\n${cache}\n`);
  writeFileSync("bunfig.toml", `[install]\nregistry = "${registry}"\n[install.cache]\ndir = "${here}/cache"\n`);
  writeFileSync(".tree", TREE);
}
const locked = ["package-lock.json", "pnpm-lock.yaml", "bun.lock"].some((name) => existsSync(name));
if (!locked || (state === "warm" && !existsSync("cache") && !existsSync("store"))) {
  const { status } = spawnSync(program, words, { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
remove("node_modules");
if (state === "cold") remove("cache", "store");
