// Functions of the program that policies call, in each runtime: registered, absent, failing, and called from a thread of the pool.
import { load as loadCore } from "@celador/core";
import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { AUTHORING, RUNTIMES } from "./runtimes.mjs";

const SHOP = {
  name: "shop.yaml",
  text: `
kind: celador/v1/tools
namespace: shop
name: orders
tools:
  - {name: refund, inputSchema: {type: object, properties: {customer: {type: string}, amount: {type: number}}, required: [customer, amount]}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: desk
description: Answers customers.
prompt: You answer customers of a shop.
capabilities: {orders: "*"}
---
kind: celador/v1/policy
namespace: shop
name: risk
functions:
  crm.tier: {parameters: [customer: string], result: string, cost: {call: 20}}
  risk.score: {parameters: [amount: double, of: "map(string, list(int))"], result: double}
  risk.key: {parameters: [of: int], result: int}
capabilities:
  refund:
    before:
      - {id: known, assert: "crm.tier(input.customer) in ['gold', 'silver']", error_message: Not a customer.}
      - {id: low, assert: "risk.score(input.amount, {'a': [1, 2]}) < 5.0"}
      - {id: key, assert: "risk.key(7) > 0"}
`,
};

const SECRET = "kim@example.com";
const functions = {
  "crm.tier": (customer) => ({ "c-1": "gold", "c-2": "bronze" })[customer],
  "risk.score": (amount, of) => (assert.deepEqual(of, { a: [1, 2] }), amount / 100),
  "risk.key": (of) => of,
};

/** What a call comes to with other functions in the place of some. */
function decided(load, others = {}, customer = "c-1", amount = 20) {
  const task = load(SHOP, { functions: { ...functions, ...others } }).agent().task();
  return task.before("refund", { customer, amount });
}

const said = async (run) => {
  const [told, warn] = [[], console.warn];
  console.warn = (line) => told.push(line);
  try {
    return { result: await run(), told };
  } finally {
    console.warn = warn;
  }
};

const RAISED = "its function has raised an exception";
const AWAITED = "its function gives something to be awaited";
const NO_JSON = "its value is not JSON";
const OTHER = "its value is not of the declared type";

class Secret extends Error {
  constructor() {
    super(SECRET);
  }
}

const cyclic = [];
cyclic.push(cyclic);

const FAILING = [
  [() => { throw new Secret(); }, RAISED],
  [() => { throw SECRET; }, RAISED],
  [function recursive() { return recursive(); }, RAISED],
  [() => ({ get tier() { throw new Secret(); } }), RAISED],
  [() => Promise.resolve("gold"), AWAITED],
  [() => Promise.reject(new Secret()), AWAITED],
  [() => ({ then() {} }), AWAITED],
  [() => undefined, NO_JSON],
  [() => () => "gold", NO_JSON],
  [() => Symbol("gold"), NO_JSON],
  [() => "\ud800", NO_JSON],
  [() => NaN, NO_JSON],
  [() => new Date(0), NO_JSON],
  [() => new Map([["a", 1]]), NO_JSON],
  [() => [undefined], NO_JSON],
  [() => [, "gold"], NO_JSON],
  [() => ({ tier: undefined }), NO_JSON],
  [() => cyclic, NO_JSON],
  [() => null, OTHER],
  [() => 1, OTHER],
  [() => true, OTHER],
  [() => ["gold"], OTHER],
  [() => new String("gold"), NO_JSON],
];

for (const [name, { load, agentFor, check, evaluate }] of Object.entries(RUNTIMES)) {
  test(`${name}: what the functions give decides`, () => {
    assert.equal(decided(load).verdict, "allow");
    const refused = decided(load, {}, "c-2");
    assert.deepEqual([refused.verdict, refused.message], ["block", "Not a customer."]);
    assert.equal(decided(load, {}, "c-1", 900.5).verdict, "block");
  });

  test(`${name}: a policy whose functions are missing is refused`, () => {
    for (const given of [undefined, {}, { "crm.tier": functions["crm.tier"], "risk.scores": functions["risk.score"] }]) {
      assert.throws(() => load(SHOP, { functions: given }), ({ code, diagnostics }) => {
        assert.deepEqual([code, new Set(diagnostics.map((found) => found.code))], ["refused", new Set(["unregistered_function"])]);
        return true;
      });
    }
    // the module that decides has no analysis, and says so
    assert.deepEqual(check(SHOP).filter(({ code }) => code !== "not_analysed"), []);
  });

  test(`${name}: a function that fails fails the step, and nothing of its data is told`, async () => {
    for (const [tier, why] of FAILING) {
      const { result, told } = await said(() => decided(load, { "crm.tier": tier }));
      assert.equal(result.verdict, "block");
      assert.deepEqual(result.findings.map(({ code, message }) => [code, message]), [["host_failed", `the host could not answer for \`crm.tier\`: ${why}`]], String(tier));
      assert.ok(!JSON.stringify([result, told]).includes(SECRET));
      assert.equal(told.length, why === RAISED ? 1 : 0);
    }
  });

  test(`${name}: numbers go over exactly or not at all`, () => {
    const key = (gives) => decided(load, { "risk.key": () => gives }).verdict;
    assert.deepEqual([7, 7n, 2n ** 62n, Number.MAX_SAFE_INTEGER].map(key), Array(4).fill("allow"));
    assert.deepEqual([7.5, 2 ** 53, 2 ** 60, 2n ** 63n, -1n, "7", -0].map(key), Array(7).fill("block"));
    const score = (gives) => decided(load, { "risk.score": () => gives }).verdict;
    assert.deepEqual([4, 4.5, -(2 ** 60), -1e300].map(score), Array(4).fill("allow"));
    assert.deepEqual([Infinity, 2n ** 53n + 1n, "4", null, true].map(score), Array(5).fill("block"));
  });

  test(`${name}: what is no function is refused at once`, () => {
    assert.throws(() => load(SHOP, { functions: { "crm.tier": async () => "gold" } }), { code: "bad_request", message: /async function/ });
    assert.throws(() => load(SHOP, { functions: { "crm.tier": "gold" } }), { code: "bad_request", message: /`crm.tier`, found `string`/ });
  });

  test(`${name}: what the program changes later changes no decision, and neither do functions`, () => {
    const given = { ...functions };
    const task = load(SHOP, { functions: given }).agent().task();
    given["crm.tier"] = () => "none";
    assert.equal(task.before("refund", { customer: "c-1", amount: 2 }).verdict, "allow");
  });

  test(`${name}: a function may not ask the engine`, () => {
    const codes = [];
    let task;
    const asking = () => {
      for (const ask of [() => task.before("refund", { customer: "c-1", amount: 2 }), () => evaluate("1 + 1"), () => task.save()]) {
        assert.throws(ask, (error) => codes.push(error.code) > 0);
      }
      return "gold";
    };
    task = load(SHOP, { functions: { ...functions, "crm.tier": asking } }).agent().task();
    assert.equal(task.before("refund", { customer: "c-1", amount: 2 }).verdict, "allow");
    assert.deepEqual(codes, Array(3).fill("within_function"));
    assert.equal(evaluate("1 + 1"), 2);
  });

  test(`${name}: an agent of tools alone has functions`, () => {
    const refund = { name: "refund", inputSchema: { type: "object", properties: { customer: { type: "string" } } } };
    const policy = {
      name: "tiers.yaml",
      text: `
kind: celador/v1/policy
namespace: shop
name: tiers
functions: {crm.tier: {parameters: [customer: string], result: string}}
capabilities: {refund: {before: [{id: gold, assert: "crm.tier(input.customer) == 'gold'"}]}}
`,
    };
    const agent = agentFor([refund], policy, { functions });
    assert.deepEqual(["c-1", "c-2"].map((customer) => agent.task().before("refund", { customer }).verdict), ["allow", "block"]);
  });
}

test("tasks in a store call functions from threads of the pool", async () => {
  const store = join(mkdtempSync(join(tmpdir(), "celador-host-")), "tasks.db");
  const policies = await loadCore(SHOP, { store, functions });
  const agent = await policies.agent();
  const tasks = await Promise.all(Array.from({ length: 8 }, (_, at) => agent.task(`t-${at}`)));
  const customers = ["c-1", "c-2"];
  const decided = await Promise.all(tasks.map((task, at) => task.before("refund", { customer: customers[at % 2], amount: 2 })));
  assert.deepEqual(decided.map(({ verdict }) => verdict), Array(4).fill(["allow", "block"]).flat());
  const { result, told } = await said(async () => {
    const failing = await loadCore(SHOP, { store: `${store}.2`, functions: { ...functions, "crm.tier": () => { throw new Secret(); } } });
    return (await (await failing.agent()).task("t-1")).before("refund", { customer: "c-1", amount: 2 });
  });
  assert.deepEqual([result.verdict, result.findings[0].code, told.length], ["block", "host_failed", 1]);
  assert.ok(!JSON.stringify([result, told]).includes(SECRET));
});

for (const [name, { replayLines }] of Object.entries(AUTHORING)) {
  test(`${name}: recorded steps are judged with functions`, () => {
    const lines = (verdict) => [
      JSON.stringify({ task: "t-1", agent: "shop/desk", at: "2026-06-01T12:00:00Z", input: { message: "Pay." }, verdict: "allow" }),
      JSON.stringify({ task: "t-1", call: { id: "c1", fn: "refund", args: { customer: "c-2", amount: 2 } }, verdict }),
    ];
    assert.equal(replayLines(lines("block"), { policies: SHOP, functions }).flips, 0);
    assert.equal(replayLines(lines("allow"), { policies: SHOP, functions }).flips, 1);
    assert.throws(() => replayLines(lines("block"), { policies: SHOP }), { code: "refused" });
  });
}
