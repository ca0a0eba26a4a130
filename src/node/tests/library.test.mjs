// Every policy that the repository offers for copying loads in each runtime by itself, and passes its own cases there.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { ROOT, RUNTIMES, texts } from "./runtimes.mjs";

const folders = (parent) =>
  readdirSync(`${ROOT}/${parent}`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${parent}/${entry.name}`);

const STARTERS = folders("policies").filter((folder) => folder !== "policies/library");
const LIBRARY = folders("policies/library");
assert.ok(STARTERS.length >= 6 && LIBRARY.length >= 11);

for (const [name, { load, test: run }] of Object.entries(RUNTIMES)) {
  for (const folder of [...STARTERS, ...LIBRARY]) {
    test(`${name}: ${folder} loads, and its cases pass`, () => {
      const files = texts(folder);
      const manifests = files.filter(({ name, text }) => !name.startsWith(`${folder}/cases/`) && /^kind:/m.test(text));
      const errors = load(manifests).warnings.filter(({ severity }) => severity === "error");
      assert.deepEqual(errors, []);
      const { passed, results } = run(files);
      assert.deepEqual(results.filter((result) => !result.passed), []);
      assert.ok(passed >= 5, `${passed} cases`);
    });
  }
}

/** The examples of the reference of functions, each an expression. */
const EXAMPLES = [...readFileSync(`${ROOT}/docs/functions.md`, "utf8").matchAll(/^(.+?) {2}→ {2}/gm)].map(([, expression]) => expression);

/** Texts with deep nesting: their parsers use the stack, which is smaller in WebAssembly. */
const NESTED = [
  ...["select (", "select f(", "select case when ", "select not ", "select 1 from (", "select 1 where a in (", "explain ", "begin "].map((part) => ["sql.parse", part]),
  ...["> ", "- ", "[", "[a](", "*a _b ", "<div>", "<p style='"].flatMap((part) => [["html.urls", part], ["plain.text", part]]),
  ...["(", '"', "a:", "<", "a@b.example,"].map((part) => ["mail.addresses", part]),
].flatMap(([name, part]) => [20, 2000].map((count) => `${name}(${JSON.stringify(part.repeat(count))})`));

/** The outcome of an expression as a task of the runtime evaluates it: its value, or the name and code of its error. */
function outcomesIn({ load }) {
  const task = load(texts("examples/first-policy").filter(({ name }) => name.endsWith("/agent.yaml"))).agent().task("thread-1", { user: "u-7" });
  return [...EXAMPLES, ...NESTED].map((expression) => {
    try {
      return { expression, value: task.evaluate(expression) };
    } catch ({ name, code }) {
      return { expression, name, code };
    }
  });
}

const OUTCOMES = outcomesIn(RUNTIMES.node);

test("node: expressions that call a parser have values", () => {
  for (const call of ["sql.parse(", "mail.addresses(", "mail.domain(", "html.urls(", "plain.text("]) {
    assert.ok(OUTCOMES.some(({ expression, value }) => expression.startsWith(call) && value !== undefined), call);
  }
});

for (const [name, celador] of Object.entries(RUNTIMES).filter(([name]) => name !== "node")) {
  test(`${name}: examples of docs/functions.md and nested texts have the outcome that they have in the addon`, () => {
    assert.deepEqual(outcomesIn(celador), OUTCOMES);
  });
}
