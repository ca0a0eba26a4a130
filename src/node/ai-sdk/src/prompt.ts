/**
 * What is about to be sent to the model, judged: every message in every place, whoever says that it said it.
 *
 * In: the prompt, which the caller hands over whole with every step. Out: a prompt that is written from decisions, or what the user is told in
 * the place of an answer. A message is judged once; results and calls are those that the task knows.
 */

import type { Json } from "@celador/api";
import { Judge, type Judged, type Place, REFUSED, readExactly, textPart, unknownForm } from "@celador/api/adapter";
import { denied } from "./approvals.js";
import type { Calls, Output } from "./calls.js";
import { type AnyPart, type Kind, inPrompt, isUnjudged, readParts, readable, writeParts } from "./forms.js";
import type { Guarded } from "./options.js";
import { object } from "./values.js";

/** A message of a prompt. */
export interface Message {
  readonly role: string;
  readonly content: string | readonly AnyPart[];
  readonly providerOptions?: unknown;
}

interface CallPart extends AnyPart {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

interface ResultPart extends AnyPart {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: Output;
}

const isCall = (part: AnyPart): part is CallPart => part.type === "tool-call";
const isResult = (part: AnyPart): part is ResultPart => part.type === "tool-result";

export class Prompt {
  readonly judge: Judge;
  readonly #guarded: Guarded;
  readonly #calls: Calls;
  readonly #row: (part: AnyPart) => Kind;

  constructor(guarded: Guarded, calls: Calls) {
    this.#row = readable(inPrompt, guarded.unknown);
    this.judge = new Judge(guarded.task);
    this.#guarded = guarded;
    this.#calls = calls;
  }

  async judged(prompt: readonly Message[]): Promise<{ readonly prompt: readonly Message[] } | { readonly says: string }> {
    await this.#denials(prompt);
    const last = prompt.findLastIndex(({ role }) => role === "assistant");
    const calls = new Map(prompt.flatMap(({ content }) => (typeof content === "string" ? [] : content.filter(isCall))).map((call) => [call.toolCallId, call]));
    const written: Message[] = [];
    for (const [at, message] of prompt.entries()) {
      const { content, stopped } = await this.#message(message, { at, role: message.role, isEarlier: at < last }, calls);
      if (stopped !== undefined) return { says: stopped };
      const { role, providerOptions } = message;
      written.push({ role, content, ...(providerOptions === undefined ? {} : { providerOptions }) });
    }
    return { prompt: written };
  }

  async #message(message: Message, place: Place, calls: ReadonlyMap<string, CallPart>): Promise<Written> {
    const { role } = message;
    this.#guarded.unknown.or(() => inPrompt(role), undefined);
    if (typeof message.content === "string") {
      const isOwn = role === "system" && this.#isOwn(message.content);
      const judged = isOwn ? { kind: "goes" as const, parts: [textPart(message.content)] } : await this.judge.input([textPart(message.content)], place);
      return written(judged, place, (parts) => parts.map(({ text = "" }) => text).join(""), REFUSED);
    }
    const parts = message.content;
    const words = readParts(parts, this.#row);
    const isSaid = role === "assistant" && (await this.judge.wasSaid(words));
    const judged: Judged = isSaid ? { kind: "goes", parts: words } : await this.judge.input(words, place);
    // calls and results are judged by what the task knows of them
    const others = new Map<AnyPart, AnyPart>();
    for (const part of parts) {
      if (isUnjudged(this.#row(part))) continue;
      const done = isCall(part) ? await this.#call(part, place) : isResult(part) ? await this.#result(part, place, calls.get(part.toolCallId)) : undefined;
      if (done?.stopped !== undefined) return { content: "", stopped: done.stopped };
      if (done?.part !== undefined) others.set(part, done.part);
    }
    const refused = [{ type: "text", text: REFUSED }, ...others.values()];
    return written(judged, place, (judged) => writeParts(parts, judged, this.#row, (part) => others.get(part)), refused);
  }

  #isOwn(text: string): boolean {
    const { instructions = [] } = this.#guarded.options;
    return (typeof instructions === "string" ? [instructions] : instructions).includes(text);
  }

  /** A call of the history: one of the task as it was made, or the word of the caller. */
  async #call(part: CallPart, place: Place): Promise<Done> {
    const { type, toolCallId, toolName, input, providerOptions } = part;
    const call = { type, toolCallId, toolName, input, ...(providerOptions === undefined ? {} : { providerOptions }) };
    if (await this.#isKnown(part)) return { part: call };
    const judged = await this.#told(JSON.stringify(input) ?? "null", { ...place, at: `call ${toolCallId}` });
    if (judged.kind !== "goes") return stoppedBy(judged, place, { ...call, input: {} });
    return { part: { ...call, input: readExactly(joined(judged)) ?? joined(judged) } };
  }

  /** A result of the history: what the task has decided about its call, or the word of the caller. */
  async #result(part: ResultPart, place: Place, call: CallPart | undefined): Promise<Done> {
    const { type, toolCallId, toolName, output, providerOptions } = part;
    const known = { type, toolCallId, toolName, ...(providerOptions === undefined ? {} : { providerOptions }) };
    const isDenied = output.type === "execution-denied";
    if (!isDenied && call !== undefined && this.#calls.has(call.toolName) && (await this.#isKnown(call))) {
      const made = { id: toolCallId, name: call.toolName, arguments: object(call.input) };
      const decided = await this.#calls.output(made, output);
      if (decided !== undefined) return { part: { ...known, output: decided } };
      // the task knows that the call is over, and with which result
      const value = output.value as Json;
      if (output.type === "text" || output.type === "json" || output.type === "error-text") {
        if (await this.judge.wasReported(value)) return { part: { ...known, output: { type: output.type, value } } };
      }
    }
    const word = isDenied ? (output.reason ?? "") : this.#guarded.unknown.or(() => textOf(output), undefined);
    if (word === undefined) return { part: { ...known, output } };
    const judged = word === "" ? undefined : await this.#told(word, { ...place, at: `result ${toolCallId}` });
    if (judged !== undefined && judged.kind !== "goes") return stoppedBy(judged, place, { ...known, output: { type: "error-text", value: REFUSED } });
    const text = judged === undefined ? undefined : joined(judged);
    if (isDenied) return { part: { ...known, output: { type: output.type, ...(text === undefined ? {} : { reason: text }) } } };
    return { part: { ...known, output: { type: output.type.startsWith("error") ? "error-text" : "text", value: text ?? "" } } };
  }

  async #isKnown({ toolCallId: id, toolName: name, input }: CallPart): Promise<boolean> {
    return await this.#calls.isKnown({ id, name, arguments: object(input) });
  }

  async #told(text: string, place: Place): Promise<Judged> {
    return await this.judge.input([textPart(text)], place);
  }

  async #denials(prompt: readonly Message[]): Promise<void> {
    const last = prompt.at(-1);
    if (last?.role !== "tool" || typeof last.content === "string") return;
    for (const part of last.content) {
      if (isResult(part) && part.output.type === "execution-denied") await denied(this.#guarded, part.toolCallId, part.output.reason);
    }
  }
}

interface Written {
  readonly content: Message["content"];
  readonly stopped?: string;
}

/** A call or result as it goes on, or what the user is told. */
interface Done {
  readonly part?: AnyPart;
  readonly stopped?: string;
}

/** A message as it goes on; one that is refused or waits is said to the user if it is new, and stands for nothing in the history. */
function written(judged: Judged, { isEarlier }: Place, made: (parts: Extract<Judged, { kind: "goes" }>["parts"]) => Message["content"], refused: Message["content"]): Written {
  if (judged.kind === "goes") return { content: made(judged.parts) };
  if (judged.kind === "refused" && isEarlier) return { content: refused };
  return { content: "", stopped: judged.text };
}

function stoppedBy(judged: Exclude<Judged, { kind: "goes" }>, { isEarlier }: Place, refused: AnyPart): Done {
  return judged.kind === "refused" && isEarlier ? { part: refused } : { stopped: judged.text };
}

/** The text of judged parts. */
function joined({ parts }: Extract<Judged, { kind: "goes" }>): string {
  return parts.map((part) => part.text ?? "").join("");
}

/** What a result says that the task knows nothing of. Of contents that are no texts nothing is left. */
function textOf({ type, value }: Output): string {
  if (type === "text" || type === "error-text") return String(value);
  if (type === "json" || type === "error-json") return JSON.stringify(value) ?? "null";
  if (type !== "content") throw unknownForm("the output of a tool", type);
  return (value as readonly { readonly type: string; readonly text?: string }[]).map((it) => it.text ?? "").join("");
}
