// Puts what the build left beside the server where it looks for it: without it every file below
// `/_next/static` is a 404.
import { cpSync } from "node:fs";

cpSync(".next/static", ".next/standalone/.next/static", { recursive: true });
cpSync("access-log.cjs", ".next/standalone/access-log.cjs");
