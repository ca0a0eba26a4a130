// Pages about what authors ask: their programs have the types that they say, run, and print what stands below them.
import { build } from "esbuild";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ROOT } from "./runtimes.mjs";

const HERE = fileURLToPath(new URL("../", import.meta.url));
const FOLDER = `${HERE}/dist/pages`;
const PAGES = { everyday: 1, findings: 1, prove: 1, replay: 1, testing: 2 };

/** Programs with what they print. */
function programs(page) {
  const blocks = [...readFileSync(`${ROOT}/docs/${page}.md`, "utf8").matchAll(/^```(\w+)\n([^]*?)^```$/gm)];
  return blocks.flatMap(([, kind, text], at) => (kind === "ts" ? [[text, blocks[at + 1][2]]] : []));
}

mkdirSync(FOLDER, { recursive: true });
const files = [];
for (const [page, least] of Object.entries(PAGES)) {
  const found = programs(page);
  test(`docs/${page}.md has programs`, () => assert.ok(found.length >= least));
  found.forEach(([text, printed], at) => {
    const file = `${FOLDER}/${page}-${at}`;
    writeFileSync(`${file}.ts`, text);
    files.push(`${file}.ts`);
    test(`docs/${page}.md: program ${at + 1}`, async () => {
      await build({ entryPoints: [`${file}.ts`], outfile: `${file}.mjs`, format: "esm", target: "node20" });
      assert.equal(execFileSync(process.execPath, [`${file}.mjs`], { cwd: ROOT, encoding: "utf8" }), printed);
    });
  });
}

test("the programs have the types that they say", () => {
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck", "--types", "node"];
  execFileSync("npx", ["tsc", ...options, ...files], { cwd: HERE, encoding: "utf8", stdio: "pipe" });
});
