// How long a decision takes in Node: `before` of a call with three arguments on one task, in the addon, in WebAssembly and, beside them,
// the same question to peers that Node has. Run after `.ci/packages` (or `cargo build --release -p celador-node`): node benches/node/before.mjs
import { celadorFrom } from "../../src/node/wasm/dist/esm/index.js";
import * as core from "../../src/node/core/dist/esm/index.js";
import { readFileSync } from "node:fs";

const MANIFEST = {
  name: "bench.yaml",
  text: `
kind: celador/v1/tools
namespace: shop
name: orders
tools:
  - name: refund
    inputSchema:
      type: object
      properties: {order_id: {type: string}, amount: {type: number}, reason: {type: string}}
      required: [order_id, amount, reason]
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: desk
description: Answers customers.
prompt: You answer customers of a shop.
capabilities:
  orders:
    before:
      - assert: input.amount > 0 && input.amount <= 100 && input.reason != ''
        error_message: The amount is outside what the desk may pay.
`,
};
const ROUNDS = Number(process.env.ROUNDS ?? 200_000);
/** Tasks grow with their calls, so each is asked so often and then replaced. */
const CALLS = 1_000;

const wasm = await celadorFrom(readFileSync(new URL("../../src/node/wasm/celador.wasm", import.meta.url)));
for (const [name, { load }] of Object.entries({ "the addon": core, WebAssembly: wasm })) {
  const agent = load(MANIFEST).agent();
  const times = new Float64Array(ROUNDS);
  const args = { order_id: "o1", amount: 20, reason: "It came broken." };
  let task;
  for (let round = -CALLS * 5; round < ROUNDS; round += 1) {
    if (round % CALLS === 0) task = agent.task();
    const begun = process.hrtime.bigint();
    const decision = task.before("refund", args);
    const took = Number(process.hrtime.bigint() - begun);
    if (!decision.allowed) throw new Error(decision.message);
    task.withdraw(decision.call);
    if (round >= 0) times[round] = took;
  }
  times.sort();
  const at = (share) => (times[Math.floor(ROUNDS * share)] / 1000).toFixed(2);
  console.log(`${name}: before p50 ${at(0.5)} µs, p90 ${at(0.9)} µs, p99 ${at(0.99)} µs (${ROUNDS} calls)`);
}
