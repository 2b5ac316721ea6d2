// Writes `graph/`: 400 TypeScript modules, each of which imports up to three others, and for every
// runtime an entry that imports all of them by the first and then serves.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const MODULES = 400;
mkdirSync("graph", { recursive: true });
for (let n = 0; n < MODULES; n += 1) {
  // A tree of three branches, so that the first reaches every one.
  const next = [3 * n + 1, 3 * n + 2, 3 * n + 3].filter((m) => m < MODULES);
  const imports = next.map((m) => `import { total as total${m}, type Part as Part${m} } from "./module${m}.ts";`);
  const sum = ["1", ...next.map((m) => `total${m}`)].join(" + ");
  const types = next.map((m) => `export type Of${m} = Part${m};`);
  writeFileSync(
    `graph/module${n}.ts`,
    `${imports.join("\n")}
export interface Part { readonly name: string; readonly place: number }
${types.join("\n")}
export const part: Part = { name: "module${n}", place: ${n} };
export const total: number = ${sum};
`,
  );
}
for (const runtime of ["node", "bun", "deno"]) {
  const server = readFileSync(`${runtime}.ts`, "utf8");
  const check = `if (total !== ${MODULES}) throw new Error(\`the graph has \${total} modules\`);`;
  writeFileSync(`graph/${runtime}.ts`, `import { total } from "./module0.ts";\n${check}\n${server}`);
}
