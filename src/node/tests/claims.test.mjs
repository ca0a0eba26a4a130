// Claims: of several processes with one task, one runs a call that was let through.
import { load } from "@celador/core";
import { carryOut, next } from "@celador/api/adapter";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { newStore } from "./folders.mjs";
import { ROOT } from "./runtimes.mjs";

const POLICIES = `${ROOT}/examples/first-policy`;
const CALL = { id: "c1", name: "payout", arguments: { amount: 250 } };

const taskIn = async (store) => (await (await load(POLICIES, { store })).agent("clerk")).task("thread-7", { user: "u-7" });

/** Two payouts ask for a person. The first one is approved and held until the second one is answered. */
async function held(task) {
  await task.turn({ calls: [CALL, { ...CALL, id: "c2" }].map(({ name, ...call }) => ({ ...call, function: name })) });
  for (const [at, review] of (await task.reviews()).entries()) {
    if (at === 1) assert.equal((await task.claim("c1", "early")).verdict, "wait");
    await (at === 0 ? review.approve() : review.deny());
  }
}

if (process.argv[2] === "race") {
  const [store, number] = process.argv.slice(3);
  const task = await taskIn(store);
  writeFileSync(join(dirname(store), `ready-${number}`), "");
  while (!existsSync(join(dirname(store), "go"))) await sleep(1);
  const told = await raced(task);
  console.log(JSON.stringify(told));
} else {
  test("of processes that are released at once one runs a held call", async () => {
    const store = newStore();
    const task = await taskIn(store);
    await held(task);
    const racers = [0, 1, 2].map((number) => spawn(process.execPath, [fileURLToPath(import.meta.url), "race", store, String(number)], { stdio: ["ignore", "pipe", "inherit"] }));
    const outputs = racers.map(async (racer) => {
      let output = "";
      for await (const chunk of racer.stdout) output += chunk;
      return JSON.parse(output);
    });
    while (readdirSync(dirname(store)).filter((name) => name.startsWith("ready-")).length < racers.length) await sleep(10);
    writeFileSync(join(dirname(store), "go"), "");
    const told = await Promise.all(outputs);
    assert.equal(told.reduce((sum, { ran }) => sum + ran, 0), 1, JSON.stringify(told));
    for (const { ran, told: word } of told) assert.ok(ran === 1 || word === "call_claimed" || /reported/.test(word), JSON.stringify(told));
  });

  test("a claim belongs to one claimant until it is given back", async () => {
    for (const task of [load(POLICIES).agent("clerk").task("thread-8", { user: "u-7" }), await taskIn(newStore())]) {
      await task.before("payout", { amount: 40 }, { id: "c1" });
      assert.deepEqual((await task.claim("c1", "one")).arguments, { customer: "u-7", amount: 40 });
      assert.ok((await task.claim("c1", "one")).allowed);
      const other = async () => await task.claim("c1", "two");
      await assert.rejects(other, { name: "MisuseError", code: "call_claimed" });
      await assert.rejects(async () => await task.call("payout", { amount: 40 }, () => assert.fail("it ran"), { id: "c1" }), { code: "call_claimed" });
      await task.release("c1", "one");
      assert.ok((await other()).allowed);
      await task.after("c1", { paid: 40 });
      assert.equal((await task.claim("c1", "one")).verdict, "rejected");
    }
  });

  test("a tool that interrupts gives its claim back", async () => {
    const task = load(POLICIES).agent("clerk").task("thread-9", { user: "u-7" });
    const call = { ...CALL, arguments: { amount: 40 } };
    const interrupt = Object.assign(new Error("Which account?"), { is_bubble_up: true });
    const { allowed } = await next(task, call);
    await assert.rejects(carryOut(task, call, allowed, { run: () => { throw interrupt; } }), interrupt);
    const { allowed: again } = await next(task, call);
    assert.deepEqual((await carryOut(task, call, again, { run: () => ({ paid: 40 }) })).value, { paid: 40 });
  });
}

/** How often the call ran here, and what is said of it. */
async function raced(task) {
  let ran = 0;
  const run = async () => {
    ran += 1;
    await sleep(200);
    return { paid: 250 };
  };
  try {
    const step = await next(task, CALL);
    const told = step.kind === "run" ? await carryOut(task, CALL, step.allowed, { run }) : step;
    return { ran, told: JSON.stringify(told.value) };
  } catch (error) {
    return { ran, told: error.code };
  }
}
