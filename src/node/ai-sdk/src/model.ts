/**
 * A model behind guardrails and limits.
 *
 * In: what is about to be sent to the model, and what it answers. Out: the same where policies let it through. Each turn is reported with
 * its tokens and all of its calls, so that they are decided together, in their order, before any runs. What the user says passes the
 * guardrails before the model reads it, what the model says before the user does. A model that may not be asked answers with the text
 * of the policy.
 */

import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3Message,
  LanguageModelV3Middleware,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
  LanguageModelV3Usage,
} from "@ai-sdk/provider";
import { type CallRequest, MisuseError, isObject } from "@celador/api";
import { why } from "@celador/api/adapter";
import { denied } from "./approvals.js";
import type { Guarded } from "./options.js";

const FILTERED: LanguageModelV3FinishReason = { unified: "content-filter", raw: "celador" };
const NO_TOKENS: LanguageModelV3Usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** What may be sent, or what is said in the model's place. */
type Entrance = { readonly params: LanguageModelV3CallOptions } | { readonly says: string };

export function guardedModel(guarded: Guarded): LanguageModelV3Middleware {
  const door = new Door(guarded);
  return {
    specificationVersion: "v3",
    async wrapGenerate({ params, model }): Promise<LanguageModelV3GenerateResult> {
      const entrance = await door.enter(params);
      if ("says" in entrance) {
        const content: LanguageModelV3Content[] = [{ type: "text", text: entrance.says }];
        return { content, finishReason: FILTERED, usage: NO_TOKENS, warnings: [] };
      }
      const result = await model.doGenerate(entrance.params);
      const { text, isRefused } = await door.leave(result.content, result.usage);
      const others = result.content.filter((part) => part.type !== "text");
      const content: LanguageModelV3Content[] = text === "" ? others : [{ type: "text", text }, ...others];
      return { ...result, content, ...(isRefused ? { finishReason: FILTERED } : {}) };
    },
    async wrapStream({ params, model }): Promise<LanguageModelV3StreamResult> {
      const entrance = await door.enter(params);
      if ("says" in entrance) return { stream: streamOf(said(entrance.says)) };
      const { stream, ...rest } = await model.doStream(entrance.params);
      return { ...rest, stream: stream.pipeThrough(held(door, guarded.options.streamed ?? "held")) };
    },
  };
}

class Door {
  readonly #guarded: Guarded;
  /** The last input that was let in, and what became of it: the AI SDK sends it again with each step, and when a request failed. */
  #input: { readonly at: number; readonly text: string; readonly becomes: string } | undefined;

  constructor(guarded: Guarded) {
    this.#guarded = guarded;
  }

  async enter(params: LanguageModelV3CallOptions): Promise<Entrance> {
    const { task } = this.#guarded;
    if (params.tools?.some((tool) => tool.type === "provider")) {
      throw new MisuseError("provider_tool", "tools that a provider runs cannot be held here");
    }
    await this.#denials(params.prompt);
    const at = params.prompt.findLastIndex((message) => message.role === "user");
    const message = params.prompt[at];
    if (message?.role !== "user") return this.#limits(params);
    const text = textOf(message);
    if (this.#input?.at !== at || this.#input.text !== text) {
      // what stands behind it has been answered: it came in an earlier process
      if (at === params.prompt.length - 1) {
        const decision = await task.input(text);
        if (!decision.allowed) return { says: decision.userMessage ?? why(decision) };
        this.#input = { at, text, becomes: decision.text ?? text };
      } else {
        this.#input = { at, text, becomes: await this.#latest(text) };
      }
    }
    const { becomes } = this.#input;
    const prompt = becomes === text ? params.prompt : params.prompt.with(at, { ...message, content: replaced(message, becomes) });
    return this.#limits({ ...params, prompt });
  }

  /** What the guardrails made of the latest input: it stands in the context of the task. */
  async #latest(text: string): Promise<string> {
    const { input } = (await this.#guarded.task.context("input")) as { input?: readonly { message?: readonly { text?: string }[] }[] };
    return input?.[0]?.message?.map((part) => part.text ?? "").join("") ?? text;
  }

  async #limits(params: LanguageModelV3CallOptions): Promise<Entrance> {
    const decision = await this.#guarded.task.limits("model_turn");
    return decision.allowed ? { params } : { says: decision.userMessage ?? why(decision) };
  }

  async #denials(prompt: readonly LanguageModelV3Message[]): Promise<void> {
    const last = prompt.at(-1);
    if (last?.role !== "tool") return;
    for (const part of last.content) {
      if (part.type === "tool-result" && part.output.type === "execution-denied") {
        await denied(this.#guarded, part.toolCallId, part.output.reason);
      }
    }
  }

  /** Reports the turn. What the model says comes to an end here, whether calls stand beside it or not. */
  async leave(
    content: readonly { readonly type: string }[],
    usage: LanguageModelV3Usage,
  ): Promise<{ readonly text: string; readonly isRefused: boolean }> {
    const { task } = this.#guarded;
    const parts = content as readonly LanguageModelV3Content[];
    const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    const calls = parts.flatMap((part) => (part.type === "tool-call" ? called(part.toolCallId, part.toolName, part.input) : []));
    // while a review is open nothing is said, so what stands beside calls comes ahead of them
    const beside = calls.length > 0 && text !== "" ? await this.#said(text) : undefined;
    const turn = await task.turn({
      calls,
      promptTokens: usage.inputTokens.total ?? 0,
      completionTokens: usage.outputTokens.total ?? 0,
    });
    if (beside !== undefined) return { text: beside.text, isRefused: false };
    if (calls.length > 0 || text === "") return { text, isRefused: false };
    if (!turn.limits.allowed) return { text: turn.limits.userMessage ?? why(turn.limits), isRefused: true };
    return await this.#said(text);
  }

  async #said(text: string): Promise<{ readonly text: string; readonly isRefused: boolean }> {
    const decision = await this.#guarded.task.output(text);
    if (decision.allowed) return { text: decision.text ?? text, isRefused: false };
    return { text: decision.userMessage ?? why(decision), isRefused: true };
  }
}

/** A call of the turn; nothing of one whose arguments are no object, which the AI SDK itself refuses. */
function called(id: string, name: string, input: string): CallRequest[] {
  try {
    const args: unknown = JSON.parse(input === "" ? "{}" : input);
    return isObject(args) ? [{ id, function: name, arguments: args }] : [];
  } catch {
    return [];
  }
}

function textOf(message: Extract<LanguageModelV3Message, { role: "user" }>): string {
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The message with another text: all of it stands in the first part that has one. */
function replaced(message: Extract<LanguageModelV3Message, { role: "user" }>, text: string): typeof message.content {
  let isFirst = true;
  return message.content.flatMap((part): typeof message.content => {
    if (part.type !== "text") return [part];
    const becomes = isFirst ? [{ ...part, text }] : [];
    isFirst = false;
    return becomes;
  });
}

function said(text: string): LanguageModelV3StreamPart[] {
  return [
    { type: "stream-start", warnings: [] },
    ...spoken(text),
    { type: "finish", finishReason: FILTERED, usage: NO_TOKENS },
  ];
}

function spoken(text: string): LanguageModelV3StreamPart[] {
  const id = "celador";
  return [
    { type: "text-start", id },
    { type: "text-delta", id, delta: text },
    { type: "text-end", id },
  ];
}

function streamOf(parts: readonly LanguageModelV3StreamPart[]): ReadableStream<LanguageModelV3StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** A stream whose calls, and whose text unless it may pass, are held until the turn has ended and was decided on. */
function held(door: Door, streamed: "held" | "passed"): TransformStream<LanguageModelV3StreamPart, LanguageModelV3StreamPart> {
  const content: LanguageModelV3Content[] = [];
  const calls: LanguageModelV3StreamPart[] = [];
  let text = "";
  return new TransformStream({
    async transform(part, controller) {
      switch (part.type) {
        case "text-start":
        case "text-delta":
        case "text-end":
          if (part.type === "text-delta") text += part.delta;
          if (streamed === "passed") controller.enqueue(part);
          return;
        case "tool-call":
          content.push(part);
          calls.push(part);
          return;
        case "finish": {
          const whole: LanguageModelV3Content[] = text === "" ? content : [{ type: "text", text }, ...content];
          const left = await door.leave(whole, part.usage);
          if (streamed === "held") {
            if (left.text !== "") spoken(left.text).forEach((part) => controller.enqueue(part));
          } else if (left.text !== text) {
            controller.enqueue({ type: "error", error: new Error(left.text) });
          }
          calls.forEach((call) => controller.enqueue(call));
          controller.enqueue(left.isRefused ? { ...part, finishReason: FILTERED } : part);
          return;
        }
        default:
          controller.enqueue(part);
      }
    },
  });
}

