// The tables of forms of the adapters stand in docs/security.md. UPDATE_EXPECT=1 writes them.
import * as aiSdk from "@celador/ai-sdk";
import * as langchain from "@celador/langchain";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { ROOT } from "./runtimes.mjs";

const PAGE = `${ROOT}/docs/security.md`;
const TABLES = { "node/ai-sdk": aiSdk.FORMS, "node/langchain": langchain.FORMS };

const cell = (text) => text.replaceAll("|", "\\|");

/** A table as the page has it. */
function tableOf(name, forms) {
  const rows = forms.map(({ name, from, treatment, note }) => `| \`${name}\` | ${from} | ${treatment} | ${cell(note)} |`);
  return [`<!-- forms: ${name} -->`, "| form | from | treatment | note |", "|---|---|---|---|", ...rows, "<!-- end forms -->"].join("\n");
}

for (const [name, forms] of Object.entries(TABLES)) {
  test(`docs/security.md has the forms of ${name}`, () => {
    const page = readFileSync(PAGE, "utf8");
    const block = new RegExp(`<!-- forms: ${name} -->[^]*?<!-- end forms -->`);
    const table = tableOf(name, forms);
    if (process.env.UPDATE_EXPECT === "1") {
      writeFileSync(PAGE, block.test(page) ? page.replace(block, () => table) : `${page.trimEnd()}\n\n${table}\n`);
      return;
    }
    assert.equal(block.exec(page)?.[0], table, "run the tests with UPDATE_EXPECT=1");
  });
}
