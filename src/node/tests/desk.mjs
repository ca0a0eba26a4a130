// The shop that the adapters are tried on: its policies, its tools, and the scenarios, which are those of every adapter of Celador.
import { load } from "@celador/core";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "yaml";

const FOLDER = new URL("../../python/tests/adapters/", import.meta.url);

const read = (name) => readFileSync(new URL(name, FOLDER), "utf8");

/** The scenarios that a framework can do. */
export function scenarios(framework) {
  return parse(read("scenarios.yaml")).filter(({ only }) => only === undefined || only.includes(framework));
}

/** Whether people answer elsewhere: one review of several, or after something was said. */
export const isAnsweredElsewhere = ({ answers = [], meanwhile }) => meanwhile !== undefined || !answers.every(Array.isArray);

/** Answers open reviews at the task: a list has what is said in the order of asking, and an object what is said of each call. */
export async function answerElsewhere(task, answers) {
  const reviews = await task.reviews();
  for (const [at, review] of reviews.entries()) {
    const answer = Array.isArray(answers) ? answers[at] : answers[review.call];
    if (answer === "approve") await review.approve();
    else if (answer === "deny") await review.deny({ note: "No." });
  }
}

/** The desk under its policies, with the limits of the scenario. */
export function agentOf({ limits, reviews }, where, observe = false) {
  let text = read("desk.yaml");
  if (reviews !== undefined) text = text.replace("name: house\n", `name: house\nreviews: ${JSON.stringify(reviews)}\n`);
  if (limits !== undefined) text += `limits: ${JSON.stringify(limits)}\n`;
  const sources = { name: "desk.yaml", text };
  return where === undefined ? load(sources, { observe }).agent("shop/desk") : load(sources, where).then((policies) => policies.agent("shop/desk"));
}

/** The tools, as they would be without any framework. `ran` is what they were called with, in order. */
export class Shop {
  ran = [];

  get_order({ order }) {
    this.ran.push(["get_order", { order }]);
    if (order === "broken") throw new Error("the order cannot be read");
    return {
      o1: { status: "open", total: 800 },
      o2: { status: "shipped", card: "4111111111111111" },
      o3: { status: "contested" },
    }[order];
  }

  close_order({ order }) {
    this.ran.push(["close_order", { order }]);
    return "closed";
  }

  refund({ order, amount }) {
    this.ran.push(["refund", { order, amount }]);
    return { paid: amount };
  }

  send_mail({ text, sender = "nobody" }) {
    this.ran.push(["send_mail", { text, sender }]);
    return "sent";
  }
}

const sorted = (ran) => ran.map((call) => JSON.stringify(call)).sort();

/** Holds what a run came to to its row. `listsHeld` is for frameworks that ask about calls behind a review as well. */
export async function compare(expected, outcome, shop, task, { listsHeld = false } = {}) {
  assert.deepEqual(sorted(shop.ran), sorted(expected.ran));
  if (shop.ran.some(([name]) => name === "close_order")) assert.deepEqual(shop.ran, expected.ran);
  assert.ok(outcome.final.includes(expected.final), `${outcome.final} has not ${expected.final}`);
  for (const [call, text] of Object.entries(expected.seen ?? {})) {
    assert.ok(outcome.seen[call]?.includes(text), `${call}: ${JSON.stringify(outcome.seen)}`);
  }
  for (const text of expected.sent ?? []) assert.ok(outcome.prompts.includes(text), `${text} was not sent`);
  for (const text of expected.unsent ?? []) assert.ok(!outcome.prompts.includes(text), `${text} was sent`);
  for (const text of expected.unseen ?? []) {
    for (const place of ["prompts", "streamed", "final"]) assert.ok(!outcome[place].includes(text), `${text} is in ${place}`);
  }
  if (expected.turns !== undefined) assert.equal(outcome.turns, expected.turns);
  const held = listsHeld ? (expected.held ?? []) : [];
  if (expected.asked !== undefined || expected.answers === undefined) assert.deepEqual(outcome.asked, (expected.asked ?? []).map((asked) => [...asked, ...held]));
  if (expected.before_answers !== undefined) assert.deepEqual(sorted(outcome.beforeAnswers ?? []), sorted(expected.before_answers));
  assert.equal(await task.state(), expected.state);
  const failed = await task.evaluate("c.calls.filter(t, t.status == 'errored').size()");
  assert.equal(failed, (expected.failed ?? []).length);
  for (const call of expected.denied ?? []) {
    const reviews = (await task.reviews({ state: "all" })).filter((review) => review.call === call);
    assert.deepEqual(reviews.map((review) => review.state), ["denied"]);
    assert.ok(call in outcome.seen);
  }
  assert.deepEqual(await task.reviews(), []);
}

/** What a run has come to so far. */
export function outcome() {
  return { final: "", seen: {}, prompts: "", streamed: "", turns: 0, asked: [], beforeAnswers: undefined };
}

/** Drives a run to its end: asks, answers, goes on. `say` is for what the user says after the first asking. */
export async function drive(scenario, shop, came, begin, goOn, say) {
  let asked = await begin();
  const answers = [...(scenario.answers ?? [])];
  while (asked.length > 0) {
    came.asked.push(asked);
    came.beforeAnswers ??= [...shop.ran];
    if (scenario.meanwhile !== undefined && came.asked.length === 1) {
      assert.deepEqual(await say(scenario.meanwhile), asked, "the question stands");
    }
    assert.ok(answers.length > 0, `nobody was to be asked again: ${JSON.stringify(asked)}`);
    asked = await goOn(asked, answers.shift());
  }
  return came;
}
