// A loop of your own: decisions around each call of a tool.
import { agentFor, type Decision } from "@celador/core";

const number = { type: "number" };
const tools = [{ name: "refund", inputSchema: { type: "object", properties: { amount: number }, required: ["amount"] } }];
const agent = agentFor(tools, "../../examples/node/desk.yaml", { name: "shop/desk" });
const task = agent.task("thread-7", { user: "u-7" });

function say(decision: Decision): string {
  switch (decision.verdict) {
    case "allow":
      return `run it with ${JSON.stringify(decision.arguments)}`;
    case "suspend":
      return `ask ${decision.reviewer ?? "the host"}`;
    case "block":
      return `tell the model: ${decision.message}`;
    default:
      return decision.verdict;
  }
}

for (const amount of [40, 400, 4000]) console.log(say(task.before("refund", { amount }, { id: `call_${amount}` })));

// somebody answers the review, and the call may run
for (const review of task.reviews()) review.approve({ by: "u-7" });
console.log(say(await task.decided("call_400")));
console.log(task.after("call_400", { paid: 400 }).allowed);
