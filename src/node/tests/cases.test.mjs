// The cases that the library passes in Rust pass in each runtime: those of the specification, our own, those of the policies.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ROOT, RUNTIMES, texts } from "./runtimes.mjs";

/** How many there are says the test in Rust. */
const counts = [...readFileSync(`${ROOT}/tests/it/cases.rs`, "utf8").matchAll(/run\("([^"]+)"\);\s+assert_eq!\(summary\.passed, (\d+)/g)];

assert.equal(counts.length, 3);
for (const [, folder, count] of counts) {
  test(`node: the cases of ${folder} on the disk`, () => {
    const report = RUNTIMES.node.test(`${ROOT}/${folder}`);
    assert.deepEqual(report.results.filter(({ passed }) => !passed), []);
    assert.equal(report.passed, Number(count));
  });
  for (const [name, celador] of Object.entries(RUNTIMES)) {
    test(`${name}: the cases of ${folder} as texts`, () => {
      const report = celador.test(texts("policies", "examples/first-policy", "tests/data/cases", "tests/data/coverage"), { below: [folder] });
      assert.deepEqual(report.results.filter(({ passed }) => !passed), []);
      assert.equal(report.passed, Number(count));
    });
  }
}
