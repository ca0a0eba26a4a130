/**
 * A model behind guardrails and limits.
 *
 * In: what is about to be sent to the model, and what it answers. Out: the same, written anew from what policies have decided; nothing that they
 * were not shown goes on. Each turn is reported with its tokens and all of its calls, so that they are decided together, in their order, before
 * any runs. A model that may not be asked answers with the text of the policy.
 */

import { type JsonObject, MisuseError } from "@celador/api";
import { REFUSED, notice, whoIsAsked, why } from "@celador/api/adapter";
import type { LanguageModelMiddleware } from "ai";
import type { Calls } from "./calls.js";
import { type AnyPart, type Kind, inAnswer, inStream, isUnjudged, readParts, readable, writeParts } from "./forms.js";
import type { Guarded } from "./options.js";
import { type Message, Prompt } from "./prompt.js";

/** What a call to the model brings, as far as it matters here. */
interface Params {
  readonly prompt: readonly Message[];
  readonly tools?: readonly { readonly type: string; readonly name: string }[];
}

interface Usage {
  readonly inputTokens: { readonly total?: number };
  readonly outputTokens: { readonly total?: number };
}

interface Answer {
  readonly content: readonly AnyPart[];
  readonly usage: Usage;
  readonly [member: string]: unknown;
}

/** A model as a middleware has it. */
interface Model {
  doGenerate(params: Params): PromiseLike<Answer>;
  doStream(params: Params): PromiseLike<{ readonly stream: ReadableStream<AnyPart>; readonly [member: string]: unknown }>;
}

interface Wrapped {
  readonly params: Params;
  readonly model: Model;
}

const FILTERED = { unified: "content-filter", raw: "celador" };
const NO_TOKENS = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** What may be sent, or what is said in the model's place. */
type Entrance = { readonly params: Params } | { readonly says: string };

/** The same for versions 6 and 7: what differs is which parts there are. */
export function guardedModel(guarded: Guarded, calls: Calls): LanguageModelMiddleware {
  const door = new Door(guarded, calls);
  const middleware = {
    specificationVersion: "v3",
    async wrapGenerate({ params, model }: Wrapped) {
      const entrance = await door.enter(params);
      if ("says" in entrance) {
        return { content: [{ type: "text", text: entrance.says }], finishReason: FILTERED, usage: NO_TOKENS, warnings: [] };
      }
      const { response, ...result } = await model.doGenerate(entrance.params);
      const left = await door.leave(result.content, result.usage);
      const { body: _, ...known } = Object(response) as JsonObject;
      return { ...result, ...left.instead, content: left.content, ...(response === undefined ? {} : { response: known }) };
    },
    async wrapStream({ params, model }: Wrapped) {
      const entrance = await door.enter(params);
      if ("says" in entrance) return { stream: streamOf(said(entrance.says)) };
      const { stream, ...rest } = await model.doStream(entrance.params);
      return { ...rest, stream: stream.pipeThrough(held(door, guarded)) };
    },
  };
  return middleware as unknown as LanguageModelMiddleware;
}

/** What goes on of an answer. */
interface Left {
  readonly content: readonly AnyPart[];
  /** Whether the response was refused or changed. */
  readonly isChanged: boolean;
  readonly isRefused: boolean;
  /** What takes the place of members of the answer beside its content. */
  readonly instead: { readonly finishReason?: unknown; readonly providerMetadata?: undefined };
}

class Door {
  readonly #guarded: Guarded;
  readonly #calls: Calls;
  readonly #prompt: Prompt;
  readonly #row: (part: AnyPart) => Kind;

  constructor(guarded: Guarded, calls: Calls) {
    this.#guarded = guarded;
    this.#calls = calls;
    this.#row = readable(inAnswer, guarded.unknown);
    this.#prompt = new Prompt(guarded, calls);
  }

  async enter(params: Params): Promise<Entrance> {
    for (const { type, name } of params.tools ?? []) {
      this.#guarded.unknown.or(() => {
        if (type !== "function") throw new MisuseError("provider_tool", "tools that a provider runs cannot be held here");
        if (!this.#calls.has(name)) throw new MisuseError("unguarded_tool", `the tool \`${name}\` is none of those that \`guard\` was given`);
      }, undefined);
    }
    const judged = await this.#prompt.judged(params.prompt);
    if ("says" in judged) return await this.#instead(judged.says);
    const { task } = this.#guarded;
    const limits = await task.limits("model_turn");
    if (limits.allowed) return { params: { ...params, prompt: judged.prompt } };
    const asked = await whoIsAsked(task);
    return await this.#instead(limits.userMessage ?? (asked === "" ? why(limits) : notice("waits", asked)));
  }

  async #instead(says: string): Promise<Entrance> {
    await this.#prompt.judge.told(says);
    return { says };
  }

  /** Reports the turn. What the model says comes to an end here, whether calls stand beside it or not. */
  async leave(came: readonly AnyPart[], usage: Usage): Promise<Left> {
    const { task } = this.#guarded;
    const content = await this.#whole(came);
    const calls = content.flatMap(({ call }) => (call === undefined ? [] : [call]));
    const parts = content.map(({ part }) => part);
    const saysNothing = readParts(parts, this.#row).every(({ text, mimeType }) => text === "" && mimeType === "text/plain");
    const whole: Left = { content: parts.filter((part) => isCall(part) || isUnjudged(this.#row(part))), isChanged: false, isRefused: false, instead: {} };
    // while a review is open nothing is said, so what stands beside calls comes ahead of them
    const beside = calls.length > 0 && !saysNothing ? await this.#said(parts) : undefined;
    // where that is refused the turn ends, and none of its calls is made
    const made = beside?.isRefused ? [] : calls;
    const turn = await task.turn({
      calls: made,
      promptTokens: usage.inputTokens.total ?? 0,
      completionTokens: usage.outputTokens.total ?? 0,
    });
    for (const { id, arguments: args } of made) this.#calls.reported(id, args);
    if (beside !== undefined) return beside;
    if (calls.length > 0 || saysNothing) return whole;
    if (!turn.limits.allowed) return refused(turn.limits.userMessage ?? why(turn.limits));
    return await this.#said(parts);
  }

  /** The parts of an answer, of which each is known, with the calls among them as the task takes them. */
  async #whole(came: readonly AnyPart[]): Promise<{ part: AnyPart; call?: { id: string; function: string; arguments: JsonObject } }[]> {
    const whole = [];
    for (const part of came) {
      const { type, toolCallId, toolName, input, providerExecuted } = part as AnyPart & { [name in "toolCallId" | "toolName" | "input"]: string };
      if (isUnjudged(this.#row(part)) || type !== "tool-call") {
        whole.push({ part });
        continue;
      }
      if (providerExecuted === true) {
        this.#guarded.unknown.passOn(new MisuseError("provider_tool", `the provider has run \`${toolName}\` itself, which cannot be held here`));
        whole.push({ part });
        continue;
      }
      const { dynamic, providerMetadata } = part;
      const known = { type, toolCallId, toolName, ...(dynamic === undefined ? {} : { dynamic }), ...(providerMetadata === undefined ? {} : { providerMetadata }) };
      const args = await this.#calls.argumentsOf(toolName, input);
      // the SDK refuses what is no object, and tells the model
      if (args === undefined) whole.push({ part: { ...known, input: JSON.stringify(String(input)) } });
      else whole.push({ part: { ...known, input: input === "" ? "{}" : input }, call: { id: toolCallId, function: toolName, arguments: args } });
    }
    return whole;
  }

  async #said(parts: readonly AnyPart[]): Promise<Left> {
    const came = readParts(parts, this.#row);
    const judged = await this.#prompt.judge.output(came);
    if (judged.kind !== "goes") return refused(judged.text);
    const isChanged = JSON.stringify(judged.parts) !== JSON.stringify(came);
    const content = writeParts(parts, judged.parts, this.#row, (part) => (isCall(part) ? part : undefined));
    // what a provider says of its own words, such as their probabilities, is none of other words
    return { content, isChanged, isRefused: false, instead: isChanged ? { providerMetadata: undefined } : {} };
  }
}

function refused(text: string): Left {
  return { content: [{ type: "text", text }], isChanged: true, isRefused: true, instead: { finishReason: FILTERED, providerMetadata: undefined } };
}

const isCall = ({ type }: AnyPart) => type === "tool-call";

function said(text: string): AnyPart[] {
  return [
    { type: "stream-start", warnings: [] },
    ...spoken({ type: "text", text }, "celador"),
    { type: "finish", finishReason: FILTERED, usage: NO_TOKENS },
  ];
}

/** A part as events. */
function spoken(part: AnyPart, id: string): AnyPart[] {
  if (part.type !== "text" && part.type !== "reasoning") return [part];
  const { type, text, ...rest } = part;
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta: text },
    { type: `${type}-end`, id, ...rest },
  ];
}

function streamOf(parts: readonly AnyPart[]): ReadableStream<AnyPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** A stream whose parts, but for texts that may pass, are held until the turn has ended and was decided on; they are written anew then. */
function held(door: Door, guarded: Guarded): TransformStream<AnyPart, AnyPart> {
  const { streamed = "held" } = guarded.options;
  const content: AnyPart[] = [];
  /** The places of texts and reasoning that have begun, by the ids of the stream. */
  const open = new Map<string, number>();
  return new TransformStream({
    async transform(event, controller) {
      const { type } = event;
      const treatment = guarded.unknown.or(() => inStream(type).treatment, "judged");
      if (treatment === "dropped") return;
      if (type === "finish") {
        const left = await door.leave(content, event.usage as Usage);
        // what has passed is not said once more
        const isOut = ({ type }: AnyPart) => streamed === "passed" && (type === "text" || type === "reasoning");
        left.content.filter((part) => !isOut(part)).forEach((part, at) => spoken(part, `celador-${at}`).forEach((part) => controller.enqueue(part)));
        if (streamed === "passed" && left.isChanged) {
          controller.enqueue({ type: "error", error: new Error(String(left.content.find(isOut)?.text ?? REFUSED)) });
        }
        controller.enqueue({ ...event, ...left.instead });
        return;
      }
      if (treatment === "passed") return controller.enqueue(event);
      const [, kind, what] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
      if (kind === undefined) {
        content.push(event);
        return;
      }
      const id = `${kind} ${String(event.id)}`;
      if (!open.has(id)) open.set(id, content.push({ type: kind, text: "" }) - 1);
      const at = open.get(id)!;
      const { id: _, type: __, delta = "", ...rest } = event;
      content[at] = { ...content[at]!, text: `${String(content[at]!.text)}${what === "delta" ? String(delta) : ""}`, ...rest, type: kind };
      if (what === "end") open.delete(id);
      if (streamed === "passed") controller.enqueue(event);
    },
  });
}

