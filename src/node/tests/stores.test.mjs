// Tasks that are kept elsewhere: a SQLite file. Each operation is a promise of what a task in memory answers.
import { load } from "@celador/core";
import assert from "node:assert/strict";
import { test } from "node:test";
import { newStore } from "./folders.mjs";
import { ROOT } from "./runtimes.mjs";

const POLICIES = `${ROOT}/examples/first-policy`;

test("a task in a store outlives what opened it", async () => {
  const file = newStore();
  const opened = async () => (await (await load(POLICIES, { store: file })).agent("clerk")).task("thread-7", { user: "u-7" });
  const task = await opened();
  assert.equal(task.place, "store");
  assert.equal((await task.before("payout", { amount: 250 }, { id: "c1" })).verdict, "suspend");

  const again = await opened();
  const waiting = again.decided("c1");
  const [review] = await again.reviews();
  assert.equal((await review.approve({ by: { id: "lead", email: "lead@example.com" } })).state, "approved");
  const decision = await waiting;
  assert.deepEqual([decision.verdict, decision.arguments], ["allow", { customer: "u-7", amount: 250 }]);
  assert.deepEqual((await again.after("c1", { paid: 250 })).value, { paid: 250 });
  assert.throws(() => again.save(), { code: "kept_elsewhere" });
});

test("an agent in memory has single tasks in a store", async () => {
  const agent = load(POLICIES).agent();
  const kept = await agent.task("thread-8", { user: "u-7", store: newStore() });
  assert.equal((await kept.before("payout", { amount: 2000 })).message, "2000 is outside what a clerk may pay.");
  assert.equal(agent.task("thread-8", { user: "u-7" }).place, "memory");
});

test("a server that is not there is an error, and no decision", async () => {
  const policies = await load([], { server: "http://127.0.0.1:9" });
  const agent = await policies.agent("shop/clerk");
  await assert.rejects(async () => await agent.task("thread-9", { user: "u-7" }), { name: "StoreError" });
});
