// The cases that the library passes in Rust pass in each runtime: those of the specification, our own, those of the policies.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ROOT, RUNTIMES, texts } from "./runtimes.mjs";

/** The folders that the test in Rust runs. */
const folders = [...readFileSync(`${ROOT}/tests/it/cases.rs`, "utf8").matchAll(/run\("([^"]+)"\);/g)].map(([, folder]) => folder);

assert.equal(folders.length, 3);
for (const folder of folders) {
  const onDisk = RUNTIMES.node.test(`${ROOT}/${folder}`);
  test(`node: the cases of ${folder} on the disk`, () => {
    assert.deepEqual(onDisk.results.filter(({ passed }) => !passed), []);
    assert.ok(onDisk.passed > 0);
  });
  for (const [name, celador] of Object.entries(RUNTIMES)) {
    test(`${name}: the cases of ${folder} as texts`, () => {
      const report = celador.test(texts("policies", "examples/first-policy", "tests/data/cases", "tests/data/coverage"), { below: [folder] });
      assert.deepEqual(report.results.filter(({ passed }) => !passed), []);
      assert.equal(report.passed, onDisk.passed);
    });
  }
}
