// Tasks in memory, in each runtime.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ROOT, RUNTIMES, hasModule, texts } from "./runtimes.mjs";

const DESK = {
  name: "desk.yaml",
  text: `
kind: celador/v1/tools
namespace: shop
name: orders
tools:
  - name: find_order
    inputSchema: {type: object, properties: {order: {type: string}}, required: [order]}
  - name: refund
    inputSchema: {type: object, properties: {amount: {type: number}}, required: [amount]}
  - name: send_mail
    inputSchema: {type: object, properties: {text: {type: string}}, required: [text]}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: desk
description: Answers customers.
prompt: You answer customers of a shop.
capabilities:
  orders:
    before:
      - match: refund
        assert: input.amount <= context.capabilities.find_order.outputs[0].total
        error_message: The order was not worth {input.amount}.
      - match: send_mail
        assert: review('lead@example.com')
        error_message: The lead did not approve the mail.
`,
};

for (const [name, celador] of Object.entries(RUNTIMES)) {
  const { load, agentFor, restore, check, evaluate } = celador;
  const begun = (id) => load(DESK).agent("desk").task(id, { user: "u-7" });

  test(`${name}: a turn in which one call waits for another one and one for a person`, async () => {
    const agent = load(DESK).agent();
    const task = agent.task("thread-7", { user: "u-7" });
    assert.equal(task.input("Order o-7 came broken.").text, "Order o-7 came broken.");
    const turn = task.turn({
      promptTokens: 640,
      completionTokens: 35,
      cost: "0.0041",
      calls: [
        { id: "call_1", function: "find_order", arguments: { order: "o-7" } },
        { id: "call_2", function: "refund", arguments: { amount: 40 } },
        { id: "call_3", function: "send_mail", arguments: { text: "We are sorry." } },
      ],
    });
    assert.equal(turn.limits.allowed, true);
    const [find, refund, mail] = turn.calls;
    assert.deepEqual([find.verdict, find.arguments, find.call], ["allow", { order: "o-7" }, "call_1"]);
    assert.deepEqual([refund.verdict, refund.waitsFor], ["wait", ["call_1"]]);
    assert.deepEqual([mail.verdict, mail.reviewer, mail.pending], ["suspend", "lead@example.com", true]);

    const results = task.results([{ call: "call_1", output: { total: 60 } }]);
    assert.deepEqual(results.calls[0].value, { total: 60 });
    // who waits is told once somebody has answered, wherever in this process
    const [refunded, mailed] = [task.decided("call_2"), task.decided("call_3")];
    const [review] = agent.reviews();
    assert.deepEqual([review.call, review.function, review.arguments], ["call_3", "send_mail", { text: "We are sorry." }]);
    assert.throws(() => review.approve({ by: "somebody@example.com" }), { name: "MisuseError", code: "not_addressed" });
    assert.equal(review.approve({ by: { id: "lead", email: "lead@example.com" }, note: "Fine." }).state, "approved");
    assert.deepEqual([(await refunded).verdict, (await refunded).arguments], ["allow", { amount: 40 }]);
    assert.equal((await mailed).verdict, "allow");
    assert.throws(() => review.deny(), { code: "review_closed" });

    assert.deepEqual(task.after("call_2", { paid: 40 }).value, { paid: 40 });
    assert.equal(task.after("call_3", "The server does not answer.", { status: "errored" }).allowed, true);
    assert.equal(task.output("Your money is on its way.").text, "Your money is on its way.");
    assert.equal(task.state(), "active");
    // the same id is the same task
    assert.equal(agent.task("thread-7", { user: "u-7" }).evaluate("c.calls.size()"), 3);
    assert.throws(() => agent.task("thread-7", { user: "u-8" }), { code: "task_exists" });
  });

  test(`${name}: a denial is a value, and says which rule it was`, () => {
    const task = begun();
    task.before("find_order", { order: "o-7" }, { id: "c1" });
    task.after("c1", { total: 30 });
    const decision = task.before("refund", { amount: 40 });
    assert.deepEqual([decision.verdict, decision.allowed, decision.message], ["block", false, "The order was not worth 40."]);
    assert.equal(decision.decidedBy.file, "desk.yaml");
    assert.deepEqual(decision.steps.map(({ outcome }) => outcome), ["fail"]);
    assert.ok(Object.isFrozen(decision));
    assert.throws(() => task.after("nobody"), { name: "MisuseError", code: "unknown_call" });
  });

  test(`${name}: a tool that is guarded`, async () => {
    const task = begun();
    const find = task.guard("find_order", async ({ order }) => ({ order, total: 30 }));
    const refund = task.guard("refund", ({ amount }) => ({ paid: amount }));
    assert.deepEqual(await find({ order: "o-7" }), { order: "o-7", total: 30 });
    assert.deepEqual(await refund({ amount: 20 }), { paid: 20 });
    await assert.rejects(refund({ amount: 40 }), (error) => error.name === "Denied" && error.decision.verdict === "block");
    const broken = task.guard("find_order", () => {
      throw new Error("no order");
    });
    await assert.rejects(broken({ order: "o-8" }), { message: "no order" });
    assert.equal(task.evaluate("context.capabilities.find_order.count_errored"), 1);
  });

  test(`${name}: a task that is saved while a person is asked goes on elsewhere`, () => {
    const task = begun("thread-8");
    assert.equal(task.before("send_mail", { text: "Hello." }, { id: "c1" }).verdict, "suspend");
    const saved = task.save();
    const policies = load(DESK);
    const again = restore(policies, saved);
    assert.deepEqual([again.id, again.state(), again.reviews().length], ["thread-8", "suspended", 1]);
    const decision = again.resume({ review: { answer: "edit", arguments: { text: "Good morning." } } });
    assert.deepEqual([decision.verdict, decision.value], ["allow", { text: "Good morning." }]);
    assert.throws(() => restore(policies, "{"), { name: "MisuseError" });
  });

  test(`${name}: a review says of which agent and user it is, and null is a response, too`, () => {
    const task = begun("thread-10");
    assert.equal(task.before("send_mail", { text: "Dear customer" }).verdict, "suspend");
    const [review] = task.reviews();
    assert.deepEqual([review.agent, review.user.id], [{ namespace: "shop", name: "desk" }, "u-7"]);
    assert.throws(() => review.respond(null, { by: "kim" }), { code: "not_addressed" });
    assert.equal(review.respond(null, { by: "lead@example.com" }).state, "responded");
  });

  test(`${name}: what is saved in one runtime goes on in the other`, () => {
    const task = begun("thread-9");
    task.before("find_order", { order: "o-7" }, { id: "c1" });
    task.after("c1", { total: 60 });
    const other = Object.entries(RUNTIMES).find(([it]) => it !== name)?.[1] ?? celador;
    const again = other.restore(other.load(DESK), task.save());
    assert.equal(again.before("refund", { amount: 60 }).verdict, "allow");
    assert.equal(again.before("refund", { amount: 61 }).verdict, "block");
  });

  test(`${name}: tools without a manifest`, () => {
    const policy = {
      name: "house.yaml",
      text: `
kind: celador/v1/policy
namespace: shop
name: house
capabilities:
  refund:
    before:
      - {assert: input.amount <= 100, error_message: "{input.amount} is too much."}
`,
    };
    const tools = [
      { name: "refund", inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] } },
      { name: "look", inputSchema: { type: "object" } },
    ];
    const agent = agentFor(tools, policy, { name: "shop/desk" });
    const task = agent.task();
    assert.equal(agent.name, "shop/desk");
    assert.equal(task.before("refund", { amount: 20 }).allowed, true);
    assert.equal(task.before("refund", { amount: 200 }).message, "200 is too much.");
    assert.equal(task.before("refund", { amount: "20" }).verdict, "error");
    assert.equal(task.before("nothing").allowed, false);
    assert.deepEqual(task.offers().map(({ name }) => name), ["refund", "look"]);
  });

  test(`${name}: an engine that observes stops nothing, and says what it would have stopped`, () => {
    const task = load(DESK, { observe: true }).agent().task();
    task.before("find_order", { order: "o-7" }, { id: "c1" });
    task.after("c1", { total: 30 });
    const decision = task.before("refund", { amount: 40 });
    assert.deepEqual([decision.verdict, decision.enforced.verdict], ["allow", "block"]);
  });

  test(`${name}: what is wrong with a manifest is shown with a caret`, () => {
    const broken = { name: "desk.yaml", text: DESK.text.replace("input.amount <=", "inptu.amount <=") };
    const [diagnostic] = check(broken).filter(({ severity }) => severity === "error");
    assert.match(diagnostic.shown, /desk\.yaml:\d+:\d+/);
    assert.match(diagnostic.shown, /\^/);
    assert.throws(
      () => load(broken),
      (error) => error.name === "LoadError" && error.diagnostics.length > 0 && error.message.includes("^"),
    );
    assert.throws(() => load([]), { name: "MisuseError" });
    assert.throws(() => load(DESK).agent("shop/nobody"), { code: "unknown_agent" });
  });

  test(`${name}: expressions`, () => {
    assert.deepEqual(evaluate("xs.map(x, x * 2)", { xs: [1, 2] }), [2, 4]);
    assert.equal(evaluate("text.contains('é')", { text: "café" }), true);
    assert.throws(() => evaluate("xs +", { xs: [] }), (error) => error.name === "LoadError" && error.message.includes("^"));
    assert.throws(() => evaluate("1 / 0"), { name: "MisuseError" });
    assert.throws(() => evaluate("timestamp(x) < timestamp('2026-01-01T00:00:00Z')", { x: "no time" }), { name: "MisuseError" });
  });

  test(`${name}: what is no request is refused, and nothing breaks`, () => {
    const task = begun();
    assert.throws(() => task.before("refund", []), { name: "MisuseError" });
    assert.throws(() => task.after("c9", 1, { status: "perhaps" }), { name: "MisuseError" });
    assert.throws(() => task.turn({ calls: [{ function: "refund" }], promptTokens: -1 }), { name: "MisuseError" });
    assert.throws(() => task.context("nothing.like.it"), { name: "MisuseError" });
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    assert.throws(() => load({ name: "deep.yaml", text: deep }), { name: "LoadError" });
    assert.equal(task.before("find_order", { order: "o-7" }).allowed, true);
    task.purge();
    assert.throws(() => task.before("find_order", { order: "o-7" }), { code: "purged" });
  });

  test(`${name}: the policies that people copy load`, () => {
    const policies = load(texts("policies/support-desk").filter(({ text }) => /^kind:/m.test(text)));
    assert.deepEqual(policies.agents, ["support/support-desk"]);
  });
}

test("node: paths that cannot be read", () => {
  const { load } = RUNTIMES.node;
  assert.throws(() => load("nowhere"), { name: "LoadError", code: "unreadable" });
  assert.equal(load(`${ROOT}/examples/first-policy`).agent().task().before("payout", { amount: 40 }).allowed, true);
});

test("wasm: there are neither paths nor stores", { skip: !hasModule }, () => {
  const { load } = RUNTIMES.wasm;
  assert.throws(() => load("nowhere"), { name: "LoadError" });
  assert.throws(() => load(DESK, { store: "tasks.db" }), { code: "no_stores" });
});

test("the types know every member of a decision", () => {
  const source = readFileSync(new URL("../api/src/decision.ts", import.meta.url), "utf8");
  const declared = new Set([...source.matchAll(/^  readonly (\w+)\??:/gm)].map(([, member]) => member));
  // the rest is made of the schema of the verdict
  const { components } = JSON.parse(readFileSync(new URL("../../server/openapi.json", import.meta.url), "utf8"));
  const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  const shapes = components.schemas.Decision.oneOf.map(({ properties }) => [properties.verdict.const, new Set(Object.keys(properties).map(camel))]);
  const shape = new Map(shapes);
  const task = RUNTIMES.node.load(DESK).agent().task();
  const decisions = [
    task.input("Hello."),
    task.before("find_order", { order: "o" }),
    task.before("refund", { amount: 1 }),
    task.before("send_mail", { text: "t" }),
    task.before("nothing"),
    task.limits(),
    task.end("over"),
    task.output("Hello."),
  ];
  for (const decision of decisions) {
    assert.deepEqual(Object.keys(decision).filter((member) => !declared.has(member) && !shape.get(decision.verdict).has(member)), [], decision.verdict);
  }
  assert.deepEqual(new Set(decisions.map(({ verdict }) => verdict)), new Set(["allow", "wait", "suspend", "error", "rejected", "terminate"]));
});
