/** Texts and values of messages of LangChain. */

import type { Json } from "@celador/api";
import type { BaseMessage } from "@langchain/core/messages";

export function textOf(message: BaseMessage): string {
  const { content } = message;
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" && typeof block.text === "string" ? block.text : "")).join("");
}

/** A value as JSON. */
export function plain(value: unknown): Json {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? null : (JSON.parse(text) as Json);
}
