/** The text of messages of LangChain, which stands in one piece or in blocks. */

import type { Json } from "@celador/api";
import type { AIMessage, BaseMessage, HumanMessage } from "@langchain/core/messages";

export function textOf(message: BaseMessage): string {
  const { content } = message;
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" && typeof block.text === "string" ? block.text : "")).join("");
}

/** The same message, under the same id, with another text; what else stands in it stays. */
export function withText<M extends AIMessage | HumanMessage>(message: M, text: string): M {
  const { content } = message;
  const copy = Object.assign(Object.create(Object.getPrototypeOf(message) as object) as M, message);
  copy.content =
    typeof content === "string" ? text : [{ type: "text", text }, ...content.filter((block) => block.type !== "text")];
  return copy;
}

/** A content as JSON: of a text that is an object or a list of JSON that value, as LangChain hands results over as texts. */
export function asJson(content: unknown): Json {
  if (typeof content !== "string") return content === undefined ? null : (JSON.parse(JSON.stringify(content)) as Json);
  if (!/^\s*[[{]/.test(content)) return content;
  try {
    return JSON.parse(content) as Json;
  } catch {
    return content;
  }
}
