// The AI SDK through the scenarios, with its own scripted model: at once and streamed, and with a new process between question and answer.
import { guard } from "@celador/ai-sdk";
import { generateText, stepCountIs, streamText } from "ai";
import { simulateReadableStream } from "ai/test";
import { test } from "node:test";
import { MockModel, USAGE } from "./ai-models.mjs";
import { toolsOf } from "./ai-tools.mjs";
import { Shop, agentOf, answerElsewhere, compare, drive, isAnsweredElsewhere, outcome, scenarios } from "./desk.mjs";
import { newStore } from "./folders.mjs";

/** Whether a message is what the user was told while people are asked. */
const isNotice = ({ content }) => content.some(({ text = "" }) => /waits for the answer of|is kept/.test(text));

/** A model that answers with one turn of the script after the other; the turn follows from the messages, so a new process goes on. */
function scripted({ script }, came) {
  const turn = ({ prompt }) => {
    came.turns += 1;
    came.prompts += JSON.stringify(prompt);
    for (const part of prompt.flatMap(({ role, content }) => (role === "tool" ? content : []))) came.seen[part.toolCallId] = JSON.stringify(part.output);
    const { text, calls = [] } = script[prompt.filter((message) => message.role === "assistant" && !isNotice(message)).length];
    const content = calls.map(({ id, function: toolName, arguments: args }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName,
      input: JSON.stringify(args),
    }));
    if (text !== undefined) content.unshift({ type: "text", text });
    return { content, finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined }, usage: USAGE, warnings: [] };
  };
  return new MockModel({
    doGenerate: async (options) => turn(options),
    doStream: async (options) => {
      const { content, finishReason, usage } = turn(options);
      const chunks = content.flatMap((part) =>
        part.type !== "text"
          ? [part]
          : [
              { type: "text-start", id: "1" },
              ...part.text.split(" ").map((word, at) => ({ type: "text-delta", id: "1", delta: at === 0 ? word : ` ${word}` })),
              { type: "text-end", id: "1" },
            ],
      );
      return { stream: simulateReadableStream({ chunks: [{ type: "stream-start", warnings: [] }, ...chunks, { type: "finish", finishReason, usage }] }) };
    },
  });
}

const WAYS = {
  generateText: async (given) => {
    const { text, response, responseMessages } = await generateText(given);
    return { text, messages: responseMessages ?? response.messages, streamed: "" };
  },
  streamText: async (given) => {
    const result = streamText({ ...given, onError: () => {} });
    let streamed = "";
    for await (const part of result.fullStream) streamed += JSON.stringify(part);
    return { text: await result.text, messages: (await result.responseMessages) ?? (await result.response).messages, streamed };
  },
};

/** One conversation; `fresh` is what a new process makes anew. */
class Run {
  messages;

  constructor(scenario, shop, came, way) {
    Object.assign(this, { scenario, shop, came, way });
    this.messages = [{ role: "user", content: scenario.input ?? "Hello." }];
  }

  fresh(task) {
    this.task = task;
    this.isElsewhere = isAnsweredElsewhere(this.scenario);
    const given = { model: scripted(this.scenario, this.came), tools: toolsOf(this.shop) };
    this.guarded = guard(task, given, this.isElsewhere ? {} : { answers: "runtime" });
    return this;
  }

  async step() {
    const { text, messages, streamed } = await WAYS[this.way]({ ...this.guarded, messages: this.messages, stopWhen: stepCountIs(20) });
    this.messages = JSON.parse(JSON.stringify([...this.messages, ...messages]));
    const { came } = this;
    came.final = text;
    came.streamed += streamed;
    if (this.isElsewhere) return (await this.task.reviews()).map((review) => [review.function, review.arguments]);
    const parts = this.messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
    const answered = new Set();
    for (const part of parts.filter(({ type }) => type === "tool-result")) {
      answered.add(part.toolCallId);
      came.seen[part.toolCallId] = JSON.stringify(part.output);
    }
    const calls = new Map(parts.filter(({ type }) => type === "tool-call").map((part) => [part.toolCallId, part]));
    this.requests = parts.filter(({ type, toolCallId }) => type === "tool-approval-request" && !answered.has(toolCallId));
    return this.requests.map(({ toolCallId }) => [calls.get(toolCallId).toolName, calls.get(toolCallId).input]);
  }

  async say(text) {
    this.messages.push({ role: "user", content: text });
    return await this.step();
  }

  async goOn(_asked, answers) {
    if (this.isElsewhere) {
      await answerElsewhere(this.task, answers);
      return await this.step();
    }
    const content = this.requests.map(({ approvalId }, at) => ({
      type: "tool-approval-response",
      approvalId,
      approved: answers[at] === "approve",
    }));
    this.messages.push({ role: "tool", content });
    return await this.step();
  }
}

for (const way of Object.keys(WAYS)) {
  for (const scenario of scenarios("ai_sdk")) {
    test(`${way}: ${scenario.name}`, async () => {
      const [shop, came, task] = [new Shop(), outcome(), agentOf(scenario).task("thread-1", { user: "u-1" })];
      const run = new Run(scenario, shop, came, way).fresh(task);
      await drive(scenario, shop, came, () => run.step(), (asked, answers) => run.goOn(asked, answers), (text) => run.say(text));
      await compare(scenario, came, shop, task, { listsHeld: true });
    });
  }
}

test("a new process takes up what another one has asked", async () => {
  const scenario = scenarios("ai_sdk").find(({ name }) => name === "two reviews in one turn, both approved");
  const store = newStore();
  const [shop, came] = [new Shop(), outcome()];
  const opened = async () => await (await agentOf(scenario, { store })).task("thread-1", { user: "u-1" });
  const run = new Run(scenario, shop, came, "generateText").fresh(await opened());
  await drive(scenario, shop, came, () => run.step(), async (asked, answers) => run.fresh(await opened()).goOn(asked, answers));
  await compare(scenario, came, shop, await opened(), { listsHeld: true });
});
