// LangChain under policies: a large refund is an interrupt, which the user answers.
import { agentFor } from "@celador/core";
import { celadorMiddleware, toolsOf } from "@celador/langchain";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";

const refund = tool(async ({ amount }) => ({ paid: amount }), {
  name: "refund",
  description: "Pays money back.",
  schema: z.object({ amount: z.number() }),
});

// in the place of a real model one that asks for a refund, then says that it is done
class Scripted extends FakeListChatModel {
  override bindTools(): this {
    return this;
  }

  override async _generate(messages: unknown[]) {
    const isBegin = messages.every((message) => !AIMessage.isInstance(message));
    const message = isBegin
      ? new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "refund", args: { amount: 400 }, type: "tool_call" }] })
      : new AIMessage("It is paid.");
    return { generations: [{ text: message.text, message }] };
  }
}

const policies = agentFor(toolsOf([refund]), "../../examples/node/desk.yaml", { name: "shop/desk" });
const agent = createAgent({
  model: new Scripted({ responses: [] }),
  tools: [refund],
  middleware: [celadorMiddleware((thread) => policies.task(thread, { user: "u-7" }))],
  checkpointer: new MemorySaver(),
});

const config = { configurable: { thread_id: "thread-7" } };
await agent.invoke({ messages: [new HumanMessage("My lamp came broken.")] }, config);
const state = await agent.graph.getState(config);
for (const { value } of state.tasks.flatMap((task) => task.interrupts)) console.log("May it run?", JSON.stringify(value.actionRequests[0].args));
const { messages } = await agent.invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }), config);
console.log(messages.at(-1)?.text);
