/**
 * The kinds of messages and parts of the AI SDK, versions 6 and 7, and what becomes of each.
 *
 * In: a part. Out: what rules read of it, and the part written anew from what they have left of that. The table is what dispatches, so a kind
 * without a row goes nowhere.
 */

import { type Form, type Part, type UnknownForms, textPart, unknownForm } from "@celador/api/adapter";

/** A part as a provider or a caller has it. */
export interface AnyPart {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** How a kind is read and written. `write` takes as many parts as `read` gave; nothing is left of a part that says less than it has to. */
export interface Kind extends Form {
  readonly read?: (part: AnyPart) => Part[];
  readonly write?: (part: AnyPart, judged: readonly Part[]) => AnyPart | undefined;
}

const PROMPT = "prompt";
const ANSWER = "answer";
const STREAM = "stream";

/** The members of a part that go on as they are: settings for the provider, and what it needs to know its own part again. */
const kept = (part: AnyPart, ...names: string[]) =>
  Object.fromEntries([...names, "providerOptions", "providerMetadata"].flatMap((name) => (part[name] === undefined ? [] : [[name, part[name]]])));

const isText = (it: unknown): it is string => typeof it === "string";

const TEXT: Pick<Kind, "read" | "write"> = {
  read: (part) => [textPart(string(part, "text")), ...citationsOf(part)],
  write(part, [text, ...cited]) {
    if (text?.text === undefined) return undefined;
    const isCited = part.citations !== undefined && JSON.stringify(cited) === JSON.stringify(citationsOf(part));
    return { type: "text", text: text.text, ...kept(part), ...(isCited ? { citations: part.citations } : {}) };
  },
};

/** What was cited, as texts: none of it goes on where one of them was changed. */
function citationsOf({ citations }: AnyPart): Part[] {
  const texts: string[] = [];
  JSON.stringify(citations ?? [], (_, it: unknown) => {
    if (isText(it)) texts.push(it);
    return it;
  });
  return texts.map((text) => ({ ...textPart(text), role: "citation" }));
}

const REASONING: Pick<Kind, "read" | "write"> = {
  read: (part) => [{ ...textPart(string(part, "text")), role: "reasoning" }],
  write(part, [judged]) {
    if (judged?.text === undefined) return undefined;
    // the signature of a provider is one of its own words
    return { type: "reasoning", text: judged.text, ...(judged.text === part.text ? kept(part) : {}) };
  },
};

/** The members of a source that are words. */
const SAID = ["title", "url", "filename"] as const;

const SOURCE: Pick<Kind, "read" | "write"> = {
  read: (part) => SAID.flatMap((name) => (isText(part[name]) ? [{ ...textPart(part[name]), role: "source" }] : [])),
  write(part, judged) {
    const names = SAID.filter((name) => isText(part[name]));
    if (judged.some(({ text }) => text === undefined)) return undefined;
    return { type: "source", ...kept(part, "sourceType", "id", "mediaType"), ...Object.fromEntries(names.map((name, at) => [name, judged[at]!.text])) };
  },
};

const FILE: Pick<Kind, "read" | "write"> = {
  read: (part) => {
    const mimeType = string(part, "mediaType");
    const address = addressOf(part);
    const text = address === undefined && isTextual(mimeType) ? contentOf(part) : undefined;
    return [{ mimeType, ...(text === undefined ? {} : { text }), role: "file" }, ...[address, part.filename].flatMap((said) => (isText(said) ? [{ ...textPart(said), role: "file" }] : []))];
  },
  write(part, [judged, ...said]) {
    const [came, ...names] = FILE.read!(part);
    // a file elsewhere is the one that was judged, or none
    if (judged === undefined || came === undefined || judged.mimeType !== came.mimeType || JSON.stringify(said) !== JSON.stringify(names)) return undefined;
    if (came.text !== undefined && judged.text === undefined) return undefined;
    const data = judged.text === undefined ? part.data : written(part.data, judged.text);
    return { type: part.type, mediaType: judged.mimeType, data, ...kept(part, "filename") };
  },
};

/** What a file of this type says is text. */
const isTextual = (mimeType: string) => /^text\/|[/+](json|xml|yaml|javascript|csv|sql|toml|x-sh)\b/i.test(mimeType);

/** The address of a file that is elsewhere. One that holds the file itself is no address. */
function addressOf(part: AnyPart): string | undefined {
  const { data } = part;
  const { type, url } = Object(data) as { type?: unknown; url?: unknown };
  const address = data instanceof URL ? data : type === "url" ? url : isText(data) && /^[a-z][a-z0-9+.-]*:/i.test(data) ? data : undefined;
  if (address === undefined) return undefined;
  if (/^data:/i.test(String(address))) throw unknownForm("a file", "data:");
  return String(address);
}

function contentOf(part: AnyPart): string {
  const { data } = part;
  const { type, text, data: inner } = Object(data) as { type?: unknown; text?: unknown; data?: unknown };
  if (type === "text" && isText(text)) return text;
  const bytes = type === "data" ? inner : data;
  try {
    const whole = isText(bytes) ? Uint8Array.from(atob(bytes), (it) => it.charCodeAt(0)) : (bytes as Uint8Array);
    return new TextDecoder("utf-8", { fatal: true }).decode(whole);
  } catch {
    throw unknownForm("a file", `${string(part, "mediaType")} without a text`);
  }
}

function written(data: unknown, text: string): unknown {
  const { type } = Object(data) as { type?: unknown };
  if (type === "text") return { type, text };
  const bytes = new TextEncoder().encode(text);
  return type === "data" ? { type, data: bytes } : bytes;
}

function string(part: AnyPart, name: string): string {
  const value = part[name];
  if (!isText(value)) throw unknownForm(`a part \`${part.type}\``, name);
  return value;
}

const BINARY = "parts with the role `file`: its type with, of a type that is text, its text, then its address and its name; other contents are not read";
const OUTSIDE = "what a provider runs itself comes past no rule";

/** All that is known. A row of the prompt says whose messages have the part. */
export const FORMS: readonly Kind[] = [
  { name: "system", from: PROMPT, treatment: "judged", note: "an input whose parts have the role `system`; `instructions` of `guard` names those of the program, which pass" },
  { name: "user", from: PROMPT, treatment: "judged", note: "an input" },
  { name: "assistant", from: PROMPT, treatment: "judged", note: "what the task let the model say passes; all else is an input whose parts have the role `assistant`" },
  { name: "tool", from: PROMPT, treatment: "judged", note: "results, by the ids of their calls" },
  { name: "text", from: PROMPT, treatment: "judged", note: "", ...TEXT },
  { name: "file", from: PROMPT, treatment: "judged", note: BINARY, ...FILE },
  { name: "reasoning", from: PROMPT, treatment: "judged", note: "", ...REASONING },
  { name: "reasoning-file", from: PROMPT, treatment: "judged", note: BINARY, ...FILE },
  { name: "custom", from: PROMPT, treatment: "refused", note: "only the provider can read it" },
  { name: "tool-call", from: PROMPT, treatment: "judged", note: "a call of the task; other arguments under its id are an error, and one that the task does not know is an input" },
  { name: "tool-result", from: PROMPT, treatment: "judged", note: "written from what the task has decided about the call; one without a call is an input" },
  { name: "tool-approval-response", from: PROMPT, treatment: "refused", note: OUTSIDE },

  { name: "text", from: ANSWER, treatment: "judged", note: "a response, with its citations", ...TEXT },
  { name: "reasoning", from: ANSWER, treatment: "judged", note: "a part of the response with the role `reasoning`", ...REASONING },
  { name: "source", from: ANSWER, treatment: "judged", note: "title, address and name, each a part with the role `source`", ...SOURCE },
  { name: "file", from: ANSWER, treatment: "judged", note: BINARY, ...FILE },
  { name: "reasoning-file", from: ANSWER, treatment: "judged", note: BINARY, ...FILE },
  { name: "tool-call", from: ANSWER, treatment: "judged", note: "a call of the turn; one that a provider runs is refused" },
  { name: "tool-result", from: ANSWER, treatment: "refused", note: OUTSIDE },
  { name: "tool-approval-request", from: ANSWER, treatment: "refused", note: OUTSIDE },
  { name: "custom", from: ANSWER, treatment: "refused", note: "only the provider can read it" },

  ...["text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end"].map((name) => ({
    name,
    from: STREAM,
    treatment: "judged" as const,
    note: "held until the whole answer was judged; passes as it comes with `streamed: \"passed\"`",
  })),
  ...["tool-input-start", "tool-input-delta", "tool-input-end"].map((name) => ({
    name,
    from: STREAM,
    treatment: "dropped" as const,
    note: "the call comes whole, once it was decided on",
  })),
  { name: "stream-start", from: STREAM, treatment: "passed", note: "warnings of the SDK" },
  { name: "response-metadata", from: STREAM, treatment: "passed", note: "id, time and model" },
  { name: "finish", from: STREAM, treatment: "passed", note: "tokens and the reason of the end" },
  { name: "error", from: STREAM, treatment: "passed", note: "a failure of the provider" },
  { name: "ping", from: STREAM, treatment: "passed", note: "no content" },
  { name: "raw", from: STREAM, treatment: "dropped", note: "what the provider sent, unread" },
];

const ROWS = new Map(FORMS.map((form) => [`${form.from} ${form.name}`, form]));

/** The row of a kind; an error for one that has none or is refused. */
function rowOf(from: string, name: unknown): Kind {
  const row = ROWS.get(`${from} ${String(name)}`);
  if (row === undefined || row.treatment === "refused") throw unknownForm(`the ${from}`, name);
  return row;
}

export const inPrompt = (name: unknown) => rowOf(PROMPT, name);
export const inAnswer = (name: unknown) => rowOf(ANSWER, name);
/** The row of an event of a stream: its own, or that of the part that it is. */
export const inStream = (name: unknown) => ROWS.get(`${STREAM} ${String(name)}`) ?? rowOf(ANSWER, name);

/** The row of a part that goes on as it came. */
const UNJUDGED: Kind = { name: "", from: "", treatment: "passed", note: "", read: () => [], write: (part) => part };

/** How parts are read and written: by their rows, or where an adapter observes and no rule can read one, as they came. */
export function readable(row: (name: unknown) => Kind, unknown: UnknownForms): (part: AnyPart) => Kind {
  return (part) =>
    unknown.or(() => {
      const its = row(part.type);
      its.read?.(part);
      return its;
    }, UNJUDGED);
}

/** Whether a part goes on as it came. */
export const isUnjudged = (row: Kind) => row === UNJUDGED;

/** What rules read of parts. */
export function readParts(parts: readonly AnyPart[], row: (part: AnyPart) => Kind): Part[] {
  return parts.flatMap((part) => row(part).read?.(part) ?? []);
}

/** The parts as they were judged. Parts that rules do not read are `others`; a message of another shape than it had is one text. */
export function writeParts(
  parts: readonly AnyPart[],
  judged: readonly Part[],
  row: (part: AnyPart) => Kind,
  others: (part: AnyPart) => AnyPart | undefined = () => undefined,
): AnyPart[] {
  const sizes = parts.map((part) => row(part).read?.(part).length ?? 0);
  if (sizes.reduce((sum, size) => sum + size, 0) !== judged.length) {
    const text = judged.map((part) => part.text ?? "").join("");
    const rest = parts.filter((part) => row(part).read === undefined).map(others);
    return [{ type: "text", text }, ...rest.filter((part) => part !== undefined)];
  }
  let from = 0;
  return parts.flatMap((part, at) => {
    const { write } = row(part);
    const its = judged.slice(from, (from += sizes[at]!));
    const made = write === undefined ? others(part) : write(part, its);
    return made === undefined ? [] : [made];
  });
}
