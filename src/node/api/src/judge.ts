/**
 * What a framework is about to hand on, judged part by part: messages on their way to a model, and what a model says.
 *
 * In: the readable parts of a message, and where it stands in the conversation. Out: the parts that may go on, which are the decision's own
 * and never those that came; or that the message is refused, or waits. A conversation is handed over again and again, whole: a message is
 * judged once for its place, in this process by a memory of it, in a new one by what the task has on record.
 */

import type { Decision } from "./decision.js";
import { why } from "./errors.js";
import { type Json, isObject } from "./json.js";
import type { AnyTask } from "./task.js";

/** A part of a message as rules read it. All that can be read is `text`. */
export interface Part {
  readonly mimeType: string;
  readonly text?: string;
  /** Whose it is, if not the user's, or what it is, if not what was said: `system`, `assistant`, `tool`, `reasoning`, `file`, … */
  readonly role?: string;
}

/** What became of a message. */
export type Judged =
  | { readonly kind: "goes"; readonly parts: readonly Part[] }
  /** `text` is for the user. */
  | { readonly kind: "refused"; readonly text: string }
  /** It is kept: the task judges it once reviews are answered or calls are over. */
  | { readonly kind: "waits"; readonly id: string; readonly text: string };

/** Whose a message is, and how it stands in the conversation. */
export interface Place {
  /** What tells this message from others with the same words: its position, or its id. */
  readonly at: number | string;
  readonly role: string;
  /** An answer of the model stands behind it, so an earlier process may have handed it over. */
  readonly isEarlier: boolean;
}

/** Stands in the history in the place of a message that was refused, so that no later turn of the model reads it. */
export const REFUSED = "(This message was refused.)";

export function textPart(text: string): Part {
  return { mimeType: "text/plain", text };
}

export class Judge {
  readonly #task: AnyTask;
  readonly #known = new Map<string, Judged>();
  #record: Promise<Recorded> | undefined;
  #outputs: Promise<ReadonlySet<string>> | undefined;

  constructor(task: AnyTask) {
    this.#task = task;
  }

  /** Judges a message on its way to the model. */
  async input(parts: readonly Part[], { at, role, isEarlier }: Place): Promise<Judged> {
    const written = role === "user" ? parts : parts.map((part) => ({ role, ...part }));
    const words = canonical(written);
    const places = [`${at} ${words}`, ...(isEarlier ? [words] : [])];
    const known = places.map((place) => this.#known.get(place)).find((known) => known !== undefined);
    if (known !== undefined && known.kind !== "waits") return known;
    const judged = await this.#input(written, known, isEarlier);
    // what is said again later is an input of its own, what stands in the history is not
    for (const place of [`${at} ${words}`, words]) this.#known.set(place, judged);
    if (judged.kind === "goes") {
      // a framework may hand over what came of it
      const became = canonical(judged.parts);
      for (const place of [`${at} ${became}`, became]) this.#known.set(place, judged);
    }
    return judged;
  }

  async #input(parts: readonly Part[], known: Judged | undefined, isEarlier: boolean): Promise<Judged> {
    if (known?.kind === "waits") return await this.#of(await this.#task.standing(known.id), "kept");
    // read first, so that what is judged here is not found on it
    const record = await this.#onRecord();
    if (parts.length === 0 || (isEarlier && record.hasInput(parts))) return { kind: "goes", parts };
    return await this.#of(await this.#task.input(parts as unknown as Json), "kept");
  }

  /** Judges what the model says. */
  async output(parts: readonly Part[]): Promise<Judged> {
    const record = await this.#onRecord();
    const judged = await this.#of(await this.#task.output(parts as unknown as Json), "withheld");
    // what the user reads in its place stands in the history from now on
    record.said(judged.kind === "goes" ? judged.parts : [textPart(judged.text)]);
    return judged;
  }

  /** Remembers a text of Celador's own, which stands in the history from now on. */
  async told(text: string): Promise<void> {
    (await this.#onRecord()).said([textPart(text)]);
  }

  /** Whether a message of the model was judged when it was said. */
  async wasSaid(parts: readonly Part[]): Promise<boolean> {
    return (await this.#onRecord()).wasSaid(parts);
  }

  /** Whether the task has a result with this value on record. Of a call that is over it keeps that, and not what was decided of it. */
  async wasReported(value: Json): Promise<boolean> {
    return (await (this.#outputs ??= outputsOf(this.#task))).has(canonical(value));
  }

  #onRecord(): Promise<Recorded> {
    return (this.#record ??= onRecord(this.#task));
  }

  async #of(decision: Decision, waiting: keyof typeof NOTICES): Promise<Judged> {
    if (decision.allowed) return { kind: "goes", parts: partsOf(decision.value) };
    if (decision.pending && decision.call !== undefined) {
      return { kind: "waits", id: decision.call, text: notice(waiting, await whoIsAsked(this.#task)) };
    }
    return { kind: "refused", text: decision.userMessage ?? why(decision) };
  }
}

const CALLS = "the open calls";

/** What the user is told while people are asked: the words ahead of their names, and those behind. */
const NOTICES = {
  waits: ["This waits for ", "."],
  kept: ["Your message is kept. It is judged after ", "."],
  withheld: ["The answer is withheld. It waits for ", "."],
} as const;

/** What the user is told in the place of an answer while people are asked, or calls are open. */
export function notice(kind: keyof typeof NOTICES, who: string): string {
  const [ahead, behind] = NOTICES[kind];
  return `${ahead}${who === "" ? CALLS : `the answer of ${who}`}${behind}`;
}

/** Whether a text is such a notice about these people, as another process has said it. */
function isNotice(text: string, people: ReadonlySet<string>): boolean {
  return Object.values(NOTICES).some(([ahead, behind]) => {
    if (!text.startsWith(ahead) || !text.endsWith(behind)) return false;
    const said = text.slice(ahead.length, text.length - behind.length);
    const [, names] = /^the answer of ([^]*)$/.exec(said) ?? [];
    return names === undefined ? said === CALLS : names.split(" and ").every((name) => people.has(name));
  });
}

/** What the task had on record when this process began: inputs, and what the model said, to which is added what it says now. */
class Recorded {
  readonly #inputs: ReadonlySet<string>;
  readonly #said = new Set<string>();
  readonly #people: ReadonlySet<string>;

  constructor(inputs: readonly Json[], outputs: readonly Json[], people: readonly string[]) {
    this.#people = new Set(people);
    this.#inputs = new Set(inputs.map(canonical));
    for (const message of outputs) this.said(message as unknown as readonly Part[]);
  }

  hasInput(parts: readonly Part[]): boolean {
    return this.#inputs.has(canonical(parts));
  }

  /** Each part by itself, and the text as one, as a framework may part a message of the model anew. */
  said(parts: readonly Part[]): void {
    for (const part of parts) this.#said.add(canonical(part));
    const whole = parts.flatMap((part) => (part.role === undefined && part.text !== undefined ? [part.text] : [])).join("");
    this.#said.add(canonical(textPart(whole)));
  }

  wasSaid(parts: readonly Part[]): boolean {
    return parts.every((part) => part.text === "" || this.#said.has(canonical(part)) || (part.role === undefined && isNotice(part.text ?? "", this.#people)));
  }
}

async function onRecord(task: AnyTask): Promise<Recorded> {
  const { input, output } = (await task.context("input", "output")) as { input?: Json; output?: Json };
  const reviews = await task.reviews({ state: "all" });
  return new Recorded(messagesOf(input), messagesOf(output), reviews.map(({ reviewer }) => reviewer));
}

/** The results that can be read; of a task that keeps less of them there are none. */
async function outputsOf(task: AnyTask): Promise<ReadonlySet<string>> {
  try {
    const outputs = await task.evaluate("c.calls.filter(t, !t.open).map(t, t.output)");
    return new Set(Array.isArray(outputs) ? (outputs as readonly Json[]).map(canonical) : []);
  } catch (error) {
    if (Object(error).name !== "MisuseError") throw error;
    return new Set();
  }
}

function messagesOf(entries: Json | undefined): Json[] {
  if (!Array.isArray(entries)) return [];
  return (entries as readonly Json[]).flatMap((entry) => (isObject(entry) && Array.isArray(entry.message) ? [entry.message] : []));
}

/** The parts of an admitted message. */
function partsOf(value: Json): readonly Part[] {
  const message = isObject(value) ? value.message : undefined;
  return Array.isArray(message) ? (message as unknown as readonly Part[]) : [];
}

/** The people that open reviews ask, for a text. */
export async function whoIsAsked(task: AnyTask): Promise<string> {
  const reviews = await task.reviews();
  return [...new Set(reviews.map((review) => review.reviewer))].join(" and ");
}

/** JSON with sorted names: equal for equal values. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, it: unknown) =>
    isObject(it) ? Object.fromEntries(Object.entries(it).sort(([a], [b]) => (a < b ? -1 : 1))) : it,
  );
}
