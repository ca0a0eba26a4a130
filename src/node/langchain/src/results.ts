/**
 * What a tool returned, as rules read it and as it goes on.
 *
 * In: a message, a command, or what else the agent made of the result of a tool. Out: its value, and the same thing written anew from the value that
 * policies have left. What stands beside the text of a result (an artifact, other messages and members of a command) is judged with it.
 */

import { type Json, type JsonObject, isObject } from "@celador/api";
import { type ToolCall as Call, asJson, unknownForm, withNotes } from "@celador/api/adapter";
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { kindOf } from "./forms.js";
import { plain, textOf } from "./text.js";

export class Ran {
  /** What rules read. */
  readonly output: Json;
  readonly #call: Call;
  readonly #command: Command | undefined;
  readonly #own: ToolMessage | undefined;
  readonly #others: readonly BaseMessage[];
  /** Whether something stands beside the content. */
  readonly #hasMore: boolean;

  constructor(call: Call, ran: unknown) {
    this.#call = call;
    this.#command = ran instanceof Command || Object(ran).lg_name === "Command" ? (ran as Command) : undefined;
    const update = this.#command === undefined ? {} : updateOf(this.#command);
    const { messages = [], ...members } = update;
    const all = this.#command === undefined ? (ToolMessage.isInstance(ran) ? [ran] : []) : messagesOf(messages);
    this.#own = all.find((message): message is ToolMessage => ToolMessage.isInstance(message) && message.tool_call_id === call.id);
    this.#others = all.filter((message) => message !== this.#own);
    for (const message of this.#others) if (kindOf(message) === "ai" && ((message as AIMessage).tool_calls?.length ?? 0) > 0) throw unknownForm("Command", "a message with calls");
    if (this.#own?.status === "error") throw new Error(textOf(this.#own));
    const content = this.#own === undefined ? null : typeof this.#own.content === "string" ? asJson(this.#own.content) : plain(this.#own.content);
    const artifact: unknown = this.#own?.artifact;
    const beside = {
      ...(artifact === undefined || artifact === null ? {} : { artifact: plain(artifact) }),
      ...(this.#others.length === 0 ? {} : { messages: this.#others.map(told) }),
      ...(Object.keys(members).length === 0 ? {} : { update: plain(members) }),
    };
    this.output = Object.keys(beside).length === 0 ? content : { content, ...beside };
    this.#hasMore = Object.keys(beside).length > 0;
  }

  /** The message of what goes on that answers the call. */
  own(result: ToolMessage | Command): ToolMessage {
    if (ToolMessage.isInstance(result)) return result;
    const { messages } = result.update as { messages: readonly ToolMessage[] };
    return messages[0]!;
  }

  /** What goes on: the value alone decides what it says. */
  written(value: Json, notes: readonly string[] = []): ToolMessage | Command {
    const whole: JsonObject = this.#hasMore && isObject(value) ? value : { content: value };
    const { content = null, artifact, messages, update } = whole;
    const own = messageOf(this.#call, withNotes({ value: content, notes }), false, this.#own, artifact);
    if (this.#command === undefined) return own;
    const others = Array.isArray(messages) && messages.length === this.#others.length ? this.#others.map((message, at) => again(message, (messages as readonly Json[])[at]!)) : [];
    const { goto, graph } = this.#command;
    return new Command({
      ...(goto === undefined ? {} : { goto }),
      ...(graph === undefined ? {} : { graph }),
      update: { ...(isObject(update) ? update : {}), messages: [own, ...others] },
    });
  }
}

/** A message that answers a call. */
export function messageOf({ id, name }: Call, value: Json, isError: boolean, came?: ToolMessage, artifact?: Json): ToolMessage {
  const isBlocks = Array.isArray(came?.content) && Array.isArray(value);
  const content = isBlocks ? (value as unknown as ToolMessage["content"]) : typeof value === "string" ? value : JSON.stringify(value);
  return new ToolMessage({
    content,
    name,
    tool_call_id: id,
    status: isError ? "error" : "success",
    ...(came?.id === undefined ? {} : { id: came.id }),
    ...(artifact === undefined ? {} : { artifact }),
  });
}

function updateOf({ update, goto, resume }: Command): { readonly messages?: unknown; readonly [member: string]: unknown } {
  const targets = goto === undefined ? [] : Array.isArray(goto) ? goto : [goto];
  if (targets.some((target) => typeof target !== "string")) throw unknownForm("Command", "goto with a payload");
  if (resume !== undefined) throw unknownForm("Command", "resume");
  // as a list of pairs it may name a member twice
  if (Array.isArray(update)) {
    const names = update.map(([name]) => String(name));
    if (new Set(names).size < names.length) throw unknownForm("Command", "a member that is there twice");
    return Object.fromEntries(update as [string, unknown][]);
  }
  return (update ?? {}) as { messages?: unknown };
}

function messagesOf(given: unknown): BaseMessage[] {
  const all = Array.isArray(given) ? given : [given];
  for (const message of all) {
    if (typeof (Object(message) as { getType?: unknown }).getType !== "function") throw unknownForm("Command", "a message that is no object of LangChain");
    kindOf(message as BaseMessage);
  }
  return all as BaseMessage[];
}

const told = (message: BaseMessage): Json => ({ type: kindOf(message), content: plain(message.content) });

/** A message beside the result, with the content that policies have left. */
function again(message: BaseMessage, judged: Json): BaseMessage {
  const kind = kindOf(message);
  if (kind === "remove") return message;
  const content = (isObject(judged) ? judged.content : undefined) ?? "";
  const whole = { content: content as never, ...(message.id === undefined ? {} : { id: message.id }), ...(message.name === undefined ? {} : { name: message.name }) };
  if (kind === "human") return new HumanMessage(whole);
  if (kind === "system") return new SystemMessage(whole);
  if (kind === "ai") return new AIMessage(whole);
  return new ToolMessage({ ...whole, tool_call_id: (message as ToolMessage).tool_call_id });
}
