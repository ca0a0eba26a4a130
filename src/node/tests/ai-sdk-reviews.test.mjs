// Reviews of the AI SDK: who is asked, and what becomes of a call whose review is somebody else's or is answered later than another.
import { guard } from "@celador/ai-sdk";
import { generateText, stepCountIs } from "ai";
import assert from "node:assert/strict";
import { test } from "node:test";
import { MockModel, USAGE } from "./ai-models.mjs";
import { toolsOf } from "./ai-tools.mjs";
import { Shop, agentOf } from "./desk.mjs";
import { newStore } from "./folders.mjs";

const PAYING = [
  { id: "c1", amount: 600 },
  { id: "c2", amount: 700 },
];

/** A desk whose model pays what it is told to, then says that it has. */
class Desk {
  shop = new Shop();
  prompts = [];
  messages = [{ role: "user", content: "My lamp came broken." }];

  constructor(calls = PAYING) {
    this.calls = calls;
  }

  on(task, options = {}) {
    const answer = ({ prompt }) => {
      this.prompts.push(prompt);
      const isAsked = prompt.some(({ role, content }) => role === "assistant" && content.some(({ type }) => type === "tool-call"));
      const content = isAsked
        ? [{ type: "text", text: "It is done." }]
        : this.calls.map(({ id, amount }) => ({ type: "tool-call", toolCallId: id, toolName: "refund", input: JSON.stringify({ order: "o1", amount }) }));
      return { content, finishReason: { unified: isAsked ? "stop" : "tool-calls", raw: undefined }, usage: USAGE, warnings: [] };
    };
    this.task = task;
    this.guarded = guard(task, { model: new MockModel({ doGenerate: async (options) => answer(options) }), tools: toolsOf(this.shop) }, options);
    return this;
  }

  async step() {
    const { text, response, responseMessages } = await generateText({ ...this.guarded, messages: this.messages, stopWhen: stepCountIs(20) });
    this.messages = JSON.parse(JSON.stringify([...this.messages, ...(responseMessages ?? response.messages)]));
    return text;
  }

  get requests() {
    return this.messages.flatMap(({ content }) => (Array.isArray(content) ? content.filter(({ type }) => type === "tool-approval-request") : []));
  }

  answer(answers) {
    const content = Object.entries(answers).map(([call, approved]) => {
      const { approvalId } = this.requests.find(({ toolCallId }) => toolCallId === call);
      return { type: "tool-approval-response", approvalId, approved: approved === true, ...(typeof approved === "string" ? { reason: approved } : {}) };
    });
    this.messages.push({ role: "tool", content });
  }

  /** What the model was told last of a call. */
  told(call) {
    const parts = this.prompts.at(-1).flatMap(({ role, content }) => (role === "tool" ? content : []));
    return parts.filter(({ toolCallId }) => toolCallId === call).map(({ output }) => output.value ?? output.reason)[0];
  }

  get paid() {
    return this.shop.ran.map(([, { amount }]) => amount);
  }
}

const lead = { by: "lead@example.com" };
const reviewOf = async (task, call) => (await task.reviews()).find((review) => review.call === call);

for (const name of ["in memory", "with a new process in between"]) {
  test(`a review of the lead is not asked of the user, and the call is held until they answer: ${name}`, async () => {
    const store = newStore();
    const opened = async () =>
      name === "in memory" ? agentOf({}).task("thread-1", { user: "u-1" }) : await (await agentOf({}, { store })).task("thread-1", { user: "u-1" });
    const task = await opened();
    const desk = new Desk([PAYING[0]]).on(task);
    assert.match(await desk.step(), /waits for the answer of lead@example.com/);
    assert.deepEqual(desk.requests, []);
    // whatever is said meanwhile is kept, and answers nothing
    desk.messages.push({ role: "user", content: "Please!" });
    assert.match(await desk.step(), /is kept.*lead@example.com/);
    assert.deepEqual([desk.paid, desk.prompts.length, await task.state()], [[], 1, "suspended"]);
    await (await reviewOf(task, "c1")).approve(lead);
    if (name !== "in memory") desk.on(await opened());
    assert.equal(await desk.step(), "It is done.");
    assert.deepEqual(desk.paid, [600]);
    assert.deepEqual(desk.told("c1"), { paid: 600 });
    // the message that was kept is read now, once
    assert.equal(JSON.stringify(desk.prompts.at(-1)).split("Please!").length, 2);
    assert.equal(await task.evaluate("size(context.input)"), 2);
    // and what was said of it in the history stays what it is
    assert.equal(await desk.step(), "It is done.");
    assert.deepEqual(desk.paid, [600]);
  });
}

test("a denial of the lead is what the model reads", async () => {
  const desk = new Desk([PAYING[0]]).on(agentOf({}).task("thread-1", { user: "u-1" }));
  await desk.step();
  (await reviewOf(desk.task, "c1")).deny(lead);
  await desk.step();
  assert.match(desk.told("c1"), /The lead did not approve 600/);
  assert.deepEqual(desk.paid, []);
});

test("a user who is the lead is asked", async () => {
  const desk = new Desk([PAYING[0]]).on(agentOf({}).task("thread-1", { user: { id: "u-1", email: "Lead@example.com" } }));
  await desk.step();
  assert.deepEqual(desk.requests.map(({ toolCallId }) => toolCallId), ["c1"]);
});

for (const [first, second] of [
  ["c1", "c2"],
  ["c2", "c1"],
]) {
  test(`reviews are answered one at a time, ${first} first`, async () => {
    const desk = new Desk().on(agentOf({}).task("thread-1", { user: "u-1" }));
    await desk.step();
    assert.match(await desk.step(), /waits for the answer of lead@example.com/);
    (await reviewOf(desk.task, first)).approve(lead);
    // approved, and held while the other one is open: by the desk's policy one review holds all
    assert.match(await desk.step(), /waits for the answer of lead@example.com/);
    (await reviewOf(desk.task, second)).approve(lead);
    assert.equal(await desk.step(), "It is done.");
    assert.deepEqual(desk.paid.toSorted(), [600, 700]);
    assert.deepEqual([desk.told("c1"), desk.told("c2")], [{ paid: 600 }, { paid: 700 }]);
  });
}

test("the SDK answers one of two requests, and the other one later", async () => {
  const desk = new Desk().on(agentOf({}).task("thread-1", { user: "u-1" }), { answers: "runtime" });
  await desk.step();
  assert.equal(desk.requests.length, 2);
  desk.answer({ c1: true });
  // the SDK sends no model a call without a result: the one that is approved is held meanwhile, or waits for the other
  await desk.step().catch(() => {});
  assert.equal(desk.task.standing("c1").verdict === "terminate", false);
  desk.messages.pop();
  desk.answer({ c1: true, c2: "wrong customer" });
  await desk.step();
  assert.deepEqual(desk.paid, [600]);
  assert.match(JSON.stringify(desk.told("c2")), /wrong customer/);
});
