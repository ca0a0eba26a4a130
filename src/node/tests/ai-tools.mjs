// The tools of the shop as the AI SDK has them.
import { jsonSchema, tool } from "ai";

export function toolsOf(shop) {
  const schema = (properties, required) => jsonSchema({ type: "object", properties, required, additionalProperties: false });
  const text = { type: "string" };
  return {
    get_order: tool({ description: "Looks an order up.", inputSchema: schema({ order: text }, ["order"]), execute: async (args) => shop.get_order(args) }),
    close_order: tool({ description: "Closes an order.", inputSchema: schema({ order: text }, ["order"]), execute: async (args) => shop.close_order(args) }),
    refund: tool({
      description: "Pays money back.",
      inputSchema: schema({ order: text, amount: { type: "number" } }, ["order", "amount"]),
      execute: async (args) => shop.refund(args),
    }),
    send_mail: tool({
      description: "Sends a mail to the customer.",
      inputSchema: schema({ text, sender: text }, ["text"]),
      execute: async (args) => shop.send_mail(args),
    }),
  };
}
