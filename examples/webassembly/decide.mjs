// Loads the module that `lib.rs` becomes, which asks its host for nothing, and checks what it decides. First argument: the file.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

const { module, instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
assert.deepEqual(WebAssembly.Module.imports(module), [], "the module asks its host for something");

const [allowed, blocked, review] = [1, 2, 3];
const now = BigInt(Math.floor(Date.now() / 1000));
for (const [amount, expected] of [[60, allowed], [100, allowed], [100.5, review], [1000, review], [1001, blocked], [-1, blocked], [NaN, blocked]]) {
    assert.equal(instance.exports.decide(amount, now), expected, `a payout of ${amount}`);
}
// A time that no calendar has is no decision.
assert.equal(instance.exports.decide(60, 2n ** 62n), 0);
console.log("the engine decides in WebAssembly");
