// LangChain through the scenarios, with a scripted model of its own class: at once and streamed, and with a new process in between.
import { celadorMiddleware } from "@celador/langchain";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { test } from "node:test";
import { z } from "zod";
import { Shop, agentOf, answerElsewhere, compare, drive, outcome, scenarios } from "./desk.mjs";
import { newStore } from "./folders.mjs";

/** A model that answers with one turn of the script after the other; the turn follows from the messages, so a new process goes on. */
class Scripted extends BaseChatModel {
  constructor(scenario, came) {
    super({});
    Object.assign(this, { scenario, came });
  }

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  turn(messages) {
    this.came.turns += 1;
    this.came.prompts += JSON.stringify(messages.map((message) => message.toDict()));
    const { text = "", calls = [] } = this.scenario.script[messages.filter((message) => AIMessage.isInstance(message)).length];
    return { text, calls, usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } };
  }

  async _generate(messages) {
    const { text, calls, usage_metadata } = this.turn(messages);
    const tool_calls = calls.map(({ id, function: name, arguments: args }) => ({ id, name, args, type: "tool_call" }));
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls, usage_metadata }) }] };
  }

  async *_streamResponseChunks(messages, _options, runManager) {
    const { text, calls, usage_metadata } = this.turn(messages);
    const words = text.split(" ");
    for (const [at, word] of words.entries()) {
      const isLast = at === words.length - 1;
      const content = isLast ? word : `${word} `;
      const tool_call_chunks = isLast
        ? calls.map(({ id, function: name, arguments: args }, index) => ({ id, name, args: JSON.stringify(args), index, type: "tool_call_chunk" }))
        : [];
      const message = new AIMessageChunk({ content, tool_call_chunks, ...(isLast ? { usage_metadata } : {}) });
      const chunk = new ChatGenerationChunk({ text: content, message });
      await runManager?.handleLLMNewToken(content, undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
  }
}

function toolsOf(shop) {
  const of = (name, schema) => tool(async (args) => shop[name](args), { name, description: name, schema });
  const order = z.object({ order: z.string() });
  return [
    of("get_order", order),
    of("close_order", order),
    of("refund", z.object({ order: z.string(), amount: z.number() })),
    of("send_mail", z.object({ text: z.string(), sender: z.string().optional() })),
  ];
}

const WORDS = { approve: () => ({ type: "approve" }), deny: () => ({ type: "reject", message: "No." }) };

class Run {
  config = { configurable: { thread_id: "thread-1" } };

  constructor(scenario, shop, came, way, checkpointer) {
    Object.assign(this, { scenario, shop, came, way, checkpointer });
  }

  fresh(agent) {
    const middleware = [celadorMiddleware((thread) => agent.task(thread, { user: "u-1" }))];
    this.agent = agent;
    const { scenario, came, shop, checkpointer } = this;
    this.graph = createAgent({ model: new Scripted(scenario, came), tools: toolsOf(shop), middleware, checkpointer });
    return this;
  }

  async step(given) {
    const { came, config } = this;
    if (this.way === "invoke") {
      await this.graph.invoke(given, config);
    } else {
      for await (const part of await this.graph.stream(given, { ...config, streamMode: ["messages", "updates"] })) came.streamed += JSON.stringify(part);
    }
    const state = await this.graph.getState(config);
    const { messages } = state.values;
    came.final = messages.at(-1).text;
    came.seen = Object.fromEntries(messages.filter((it) => ToolMessage.isInstance(it)).map((it) => [it.tool_call_id, it.text]));
    const asked = state.tasks.flatMap(({ interrupts }) => interrupts).map(({ value }) => value);
    if (asked.length > 1) throw new Error("the reviews of a turn are one interrupt");
    return asked.flatMap(({ actionRequests }) => actionRequests.map(({ name, args }) => [name, args]));
  }

  begin() {
    return this.step({ messages: [new HumanMessage(this.scenario.input ?? "Hello.")] });
  }

  say(text) {
    return this.step({ messages: [new HumanMessage(text)] });
  }

  async goOn(asked, answers) {
    if (!Array.isArray(answers)) {
      await answerElsewhere(await this.agent.task("thread-1", { user: "u-1" }), answers);
      return await this.step(null);
    }
    const edit = () => ({ type: "edit", editedAction: { name: "refund", args: this.scenario.edited } });
    const decisions = answers.slice(0, asked.length).map((answer) => ({ ...WORDS, edit })[answer]());
    return await this.step(new Command({ resume: { decisions } }));
  }
}

for (const way of ["invoke", "stream"]) {
  for (const scenario of scenarios("langchain")) {
    test(`${way}: ${scenario.name}`, async () => {
      const [shop, came, agent] = [new Shop(), outcome(), agentOf(scenario)];
      const run = new Run(scenario, shop, came, way, new MemorySaver()).fresh(agent);
      await drive(scenario, shop, came, () => run.begin(), (asked, answers) => run.goOn(asked, answers), (text) => run.say(text));
      await compare(scenario, came, shop, agent.task("thread-1", { user: "u-1" }));
    });
  }
}

test("a new process takes up what another one has asked", async () => {
  const scenario = scenarios("langchain").find(({ name }) => name === "two reviews in one turn, both approved");
  const store = newStore();
  const [shop, came, saver] = [new Shop(), outcome(), new MemorySaver()];
  const run = new Run(scenario, shop, came, "invoke", saver).fresh(await agentOf(scenario, { store }));
  await drive(scenario, shop, came, () => run.begin(), async (asked, answers) => run.fresh(await agentOf(scenario, { store })).goOn(asked, answers));
  await compare(scenario, came, shop, await (await agentOf(scenario, { store })).task("thread-1", { user: "u-1" }));
});
