// The AI SDK under policies: the user approves a large refund, and the agent goes on.
import { agentFor } from "@celador/core";
import { guard, toolsOf } from "@celador/ai-sdk";
import { generateText, type ModelMessage, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

const tools = {
  refund: tool({
    description: "Pays money back.",
    inputSchema: z.object({ amount: z.number() }),
    execute: async ({ amount }) => ({ paid: amount }),
  }),
};

// in the place of a real model one that asks for a refund, then says that it is done
const usage = { inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 5, text: 5, reasoning: 0 } };
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) =>
    prompt.some(({ role }) => role === "assistant")
      ? { content: [{ type: "text", text: "It is paid." }], finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] }
      : {
          content: [{ type: "tool-call", toolCallId: "call_1", toolName: "refund", input: '{"amount":400}' }],
          finishReason: { unified: "tool-calls", raw: undefined },
          usage,
          warnings: [],
        },
});

const agent = agentFor(await toolsOf(tools), "../../examples/node/desk.yaml", { name: "shop/desk" });
const guarded = guard(agent.task("thread-7", { user: "u-7" }), { model, tools });

const messages: ModelMessage[] = [{ role: "user", content: "My lamp came broken." }];
const asked = await generateText({ ...guarded, messages, stopWhen: stepCountIs(5) });
messages.push(...asked.response.messages);
for (const part of asked.content) {
  if (part.type !== "tool-approval-request") continue;
  console.log(`May it run? ${part.toolCall.toolName} ${JSON.stringify(part.toolCall.input)}`);
  messages.push({ role: "tool", content: [{ type: "tool-approval-response", approvalId: part.approvalId, approved: true }] });
}
const { text } = await generateText({ ...guarded, messages, stopWhen: stepCountIs(5) });
console.log(text);
