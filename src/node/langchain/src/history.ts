/**
 * The messages of a thread, judged: every one in every place, whoever put it there.
 *
 * In: the messages as the graph has them. Out: those that take the place of others, or what the user is told. A message that comes while calls wait
 * for people is taken out of the messages and kept beside them, so that the results of the calls stand right behind them, and is judged afterwards.
 */

import { type AnyTask, type JsonObject, MisuseError } from "@celador/api";
import { type Judged, Judge, type Part, REFUSED, type UnknownForms, asJson, canonical, isMisuse, textPart, withNotes } from "@celador/api/adapter";
import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { kindOf, readContent, words, writeContent } from "./forms.js";
import { messageOf } from "./results.js";
import { plain } from "./text.js";

/** What the hooks of the middleware give back of messages. */
export interface Admitted {
  /** Those that take the place of others, or are new. */
  readonly messages: readonly BaseMessage[];
  /** Those that wait for their turn. */
  readonly kept: readonly BaseMessage[];
  /** Whether the run ends here. */
  readonly isOver: boolean;
}

export class History {
  readonly judge: Judge;
  readonly #task: AnyTask;
  readonly #unknown: UnknownForms;
  /** The calls that were reported here, with their arguments. */
  readonly #calls = new Map<string, string>();
  /** The calls of the thread, as they stand in its messages. */
  readonly #made = new Map<string, { readonly name: string; readonly arguments: JsonObject }>();
  /** The messages that tell of results, as they were told. */
  readonly #results = new Map<string, string>();

  constructor(task: AnyTask, unknown: UnknownForms) {
    this.#task = task;
    this.#unknown = unknown;
    this.judge = new Judge(task);
  }

  reported(id: string, args: JsonObject): void {
    this.#calls.set(id, canonical(args));
  }

  told(message: ToolMessage): void {
    this.#results.set(message.tool_call_id, canonical(message.content));
  }

  /** Judges what stands in the thread, then what was kept. */
  async admitted(messages: readonly BaseMessage[], kept: readonly BaseMessage[]): Promise<Admitted> {
    const last = messages.findLastIndex((message) => AIMessage.isInstance(message));
    for (const message of messages) {
      for (const { id = "", name, args } of (message as AIMessage).tool_calls ?? []) this.#made.set(id, { name, arguments: args as JsonObject });
    }
    const changed: BaseMessage[] = [];
    for (const [at, message] of messages.entries()) {
      const became = await this.#one(message, at < last);
      if (became === message) continue;
      if (!("stopped" in became)) changed.push(became);
      else if (became.isKept) {
        const behind = messages.slice(at).filter((message) => message.id !== undefined);
        const gone = behind.map(({ id }) => new RemoveMessage({ id: id! }));
        return { messages: [...changed, ...gone, new AIMessage(became.stopped)], kept: [...kept, ...behind], isOver: true };
      } else return { messages: [...changed, refused(message), new AIMessage(became.stopped)], kept, isOver: true };
    }
    for (const [at, message] of kept.entries()) {
      const became = await this.#one(message, false);
      if (!("stopped" in became)) changed.push(became);
      else if (became.isKept) return { messages: [...changed, new AIMessage(became.stopped)], kept: kept.slice(at), isOver: true };
      else return { messages: [...changed, refused(message), new AIMessage(became.stopped)], kept: kept.slice(at + 1), isOver: true };
    }
    return { messages: changed, kept: [], isOver: false };
  }

  /** The message itself where nothing of it is to change, another one in its place, or what the user is told. */
  async #one(message: BaseMessage, isEarlier: boolean): Promise<BaseMessage | { readonly stopped: string; readonly isKept: boolean }> {
    const kind = this.#unknown.or(() => {
      const kind = kindOf(message);
      if (kind !== "remove") readMessage(message);
      return kind;
    }, "unjudged");
    if (kind === "remove" || kind === "unjudged") return message;
    if (kind === "tool") return await this.#result(message as ToolMessage, isEarlier);
    const readable = readMessage(message);
    const calls = kind === "ai" ? await this.#callsOf(message as AIMessage) : [];
    if (kind === "ai" && calls.length === 0 && (await this.judge.wasSaid(readable))) return message;
    const role = ({ human: "user", ai: "assistant", system: "system" } as const)[kind];
    const judged = await this.judge.input([...readable, ...calls], { at: message.id ?? "", role, isEarlier });
    if (judged.kind !== "goes") return judged.kind === "refused" && isEarlier ? refused(message) : { stopped: judged.text, isKept: judged.kind === "waits" };
    // a call that nobody has judged as one is no call any more where a word of it was changed
    const isSame = judged.parts.length === readable.length + calls.length;
    const parts = isSame ? judged.parts.slice(0, readable.length) : judged.parts;
    const made = again(message, parts, readable);
    const areSame = isSame && judged.parts.slice(readable.length).every((part, at) => part.text === calls[at]!.text);
    if (kind === "ai" && !areSame) (made as AIMessage).tool_calls = emptied(made as AIMessage);
    return isLike(made, message) ? message : made;
  }

  /** The words of calls that the task does not know. An error where it knows them otherwise. */
  async #callsOf(message: AIMessage): Promise<Part[]> {
    const unknown: Part[] = [];
    for (const { id = "", name, args } of message.tool_calls ?? []) {
      const reported = this.#calls.get(id);
      if (reported === canonical(args)) continue;
      if (reported !== undefined) throw new MisuseError("call_exists", `the history has other arguments for the call \`${id}\` than it was made with`);
      try {
        await this.#task.standing(id);
        await this.#task.before(name, args as JsonObject, { id });
        this.reported(id, args as JsonObject);
      } catch (error) {
        if (!isMisuse(error, "unknown_call", "bad_call_id", "not_found")) throw error;
        unknown.push({ ...textPart(JSON.stringify({ name, args })), role: "call" });
      }
    }
    return unknown;
  }

  /** A result: as it was told, or the word of whoever put it there. */
  async #result(message: ToolMessage, isEarlier: boolean): Promise<BaseMessage | { readonly stopped: string; readonly isKept: boolean }> {
    const { tool_call_id: id } = message;
    const told = this.#results.get(id);
    if (told === canonical(message.content)) return message;
    if (told !== undefined) throw new MisuseError("other_result", `the history has another result of the call \`${id}\` than was told`);
    try {
      const decision = await this.#task.standing(id);
      const made = this.#made.get(id);
      const open = made === undefined ? decision : await this.#task.before(made.name, made.arguments, { id });
      if (decision.pending || (open.allowed && decision.allowed)) {
        throw new MisuseError("unreported_result", `the history has a result of the call \`${id}\`, which was not reported`);
      }
      if (decision.verdict !== "rejected") {
        const isDone = decision.allowed || decision.verdict === "respond";
        const value = isDone ? withNotes(decision) : "message" in decision ? decision.message : "";
        const result = messageOf({ id, name: made?.name ?? message.name ?? "", arguments: {} }, value, !isDone, message);
        this.told(result);
        return canonical(result.content) === canonical(message.content) ? message : result;
      }
      // the task knows that the call is over, and with which result
      const value = typeof message.content === "string" ? asJson(message.content) : plain(message.content);
      if ((message.artifact === undefined || message.artifact === null) && (await this.judge.wasReported(value))) {
        this.told(message);
        return message;
      }
    } catch (error) {
      if (!isMisuse(error, "unknown_call")) throw error;
    }
    const readable = readMessage(message);
    const judged: Judged = await this.judge.input(readable, { at: message.id ?? id, role: "tool", isEarlier });
    if (judged.kind !== "goes") return judged.kind === "refused" && isEarlier ? refused(message) : { stopped: judged.text, isKept: judged.kind === "waits" };
    const made = again(message, judged.parts, readable);
    return isLike(made, message) ? message : made;
  }
}

/** What of a message stands beside its content in words that a model reads. */
function besides(message: BaseMessage): unknown {
  const { tool_calls: _, function_call: __, ...more } = message.additional_kwargs;
  const { artifact, invalid_tool_calls } = message as { artifact?: unknown; invalid_tool_calls?: readonly unknown[] };
  // the agent puts its own name there
  const isName = message.getType() !== "human" && /^[\w-]{1,64}$/.test(message.name ?? "");
  return { name: isName ? undefined : message.name, more, artifact, invalid: invalid_tool_calls?.length ? invalid_tool_calls : undefined };
}

/** What rules read of a message: its content, then the words beside it. */
export function readMessage(message: BaseMessage): Part[] {
  return [...readContent(message.content), ...words(besides(message))];
}

/** The message written anew from what was judged: nothing beside its content goes on where a word of that was changed. */
export function again(message: BaseMessage, judged: readonly Part[], readable: readonly Part[]): BaseMessage {
  const beside = words(besides(message));
  const isSame = judged.length === readable.length;
  const size = readContent(message.content).length;
  const areSame = isSame && canonical(judged.slice(size)) === canonical(beside);
  const content = writeContent(message.content, isSame ? judged.slice(0, size) : judged) as never;
  const { tool_calls: _, function_call: __, ...more } = message.additional_kwargs;
  const kept = {
    content,
    ...(message.id === undefined ? {} : { id: message.id }),
    ...(areSame ? { additional_kwargs: more, ...(message.name === undefined ? {} : { name: message.name }) } : {}),
  };
  switch (kindOf(message)) {
    case "human":
      return new HumanMessage(kept);
    case "system":
      return new SystemMessage(kept);
    case "tool": {
      const { tool_call_id, status, artifact, name } = message as ToolMessage;
      return new ToolMessage({ ...kept, tool_call_id, ...(name === undefined ? {} : { name }), ...(status === undefined ? {} : { status }), ...(areSame && artifact !== undefined ? { artifact } : {}) });
    }
    default: {
      const { tool_calls = [], invalid_tool_calls = [], usage_metadata, response_metadata } = message as AIMessage;
      // what a provider says of its own words, such as their probabilities, is none of other words
      const own = canonical(judged) === canonical(readable) ? { response_metadata } : {};
      return new AIMessage({ ...kept, tool_calls, ...own, ...(areSame ? { invalid_tool_calls } : {}), ...(usage_metadata === undefined ? {} : { usage_metadata }) });
    }
  }
}

function refused(message: BaseMessage): BaseMessage {
  const made = again(message, [textPart(REFUSED)], []);
  if (AIMessage.isInstance(made)) made.tool_calls = emptied(made);
  return made;
}

/** Calls without arguments: results may stand behind them. */
function emptied({ tool_calls = [] }: AIMessage): NonNullable<AIMessage["tool_calls"]> {
  return tool_calls.map((call) => ({ ...call, args: {} }));
}

function isLike(a: BaseMessage, b: BaseMessage): boolean {
  const told = (message: BaseMessage) => canonical([message.content, (message as AIMessage).tool_calls ?? [], besides(message)]);
  return told(a) === told(b);
}
