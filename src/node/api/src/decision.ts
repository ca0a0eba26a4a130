/**
 * The answer to one operation, as a value that never changes.
 *
 * In: a decision as the API writes it. Out: one of a few shapes, told apart by `verdict`, by `allowed` and by `pending`. The types of
 * what stands in it are made of the OpenAPI document, and so of the types of the engine.
 */

import { type Json, type JsonObject, isObject } from "./json.js";
import type { components } from "./wire.js";

type Schemas = components["schemas"];

export type Verdict = Schemas["Verdict"];
export type Kind = Schemas["DecidedKind"];
/** A place in a manifest or policy. */
export type Origin = Schemas["Origin"];
/** A step that was evaluated. */
export type Step = Schemas["TraceEntry"];
/** A step under `mode: observe`: what it would have done. Nothing of the decision follows from it. */
export type ObservedStep = Schemas["ObservedStep"];
export type Obligation = Schemas["Obligation"];
export type Credential = Schemas["Credential"];
/** A limit that was reached: the step that would have gone beyond it was not taken. */
export type Limit = Schemas["Limit"];
/** Something that failed or was ignored while the decision was made. It holds no task data. */
export type Finding = Schemas["Finding"];
export type Switch = Schemas["Switch"];
/** What an operation asks of the program that runs the task. */
export type Question = Schemas["Question"];

/** The answers of the engine, one for each verdict. */
type Written = Schemas["Decision"];

/** `waits_for` as `waitsFor`. */
export type Camel<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name;

/** Members that have another name or type here. */
type Own = "verdict" | "trace" | "decided" | "value" | "exposes" | "terms";

/** Whether a member is a list, which is always there. */
type IsList<Member> = NonNullable<Member> extends readonly unknown[] ? true : false;

/** The members of an answer under the names that they have here. */
type Members<W> = {
  readonly [K in keyof W as K extends Own ? never : IsList<W[K]> extends true ? never : Camel<K>]: W[K];
} & {
  readonly [K in keyof W as K extends Own ? never : IsList<W[K]> extends true ? Camel<K> : never]-?: Readonly<NonNullable<W[K]>>;
};

/** The members that other answers have: absent here, so that a program may ask each answer for them. */
type Absent<W> = { readonly [K in Exclude<Camel<Exclude<KeysOf<Written>, Own>>, Camel<keyof W>>]?: undefined };
type KeysOf<W> = W extends unknown ? keyof W : never;

interface Common {
  /** The kind of operation that it is about. */
  readonly kind: Kind;
  /** The function of a call, where it is known: in a turn, among results, and of those that have waited. */
  readonly function?: string;
  /** The steps that were evaluated, in order. */
  readonly steps: readonly Step[];
  /** The calls, inputs and events that waited and were decided because of it. */
  readonly decided: readonly Decision[];
}

/** The answers with these verdicts. */
type Of<V extends Verdict, W = Written> = W extends { verdict: V } ? { readonly verdict: W["verdict"] } & Members<W> & Absent<W> & Common : never;

/** The operation goes on. */
export type Allowed = Of<"allow" | "route"> & {
  readonly allowed: true;
  readonly pending: false;
  /** The arguments to run a call with. Empty where the operation is no call that is let through. */
  readonly arguments: JsonObject;
  /** The value to go on with: resolved arguments, the result for the model, the admitted input, the delivered response. */
  readonly value: Json;
  /** The text of the admitted or delivered message, if `value` is one. */
  readonly text?: string;
  /** The values that the agent exposes with a response. */
  readonly exposes?: JsonObject;
  /** The milliseconds to wait before the call is carried out. */
  readonly delayMs?: number;
  readonly obligations: readonly Obligation[];
  readonly credentials: readonly Credential[];
};

/** A reviewer, or a step, gave the result: the call does not run, and the model receives `value`. */
export type Responded = Of<"respond"> & { readonly allowed: false; readonly pending: false; readonly value: Json };

/** Somebody is asked first. */
export type Suspended = Of<"suspend"> & {
  readonly allowed: false;
  readonly pending: true;
  /** What it asks, and of whom. */
  readonly asks?: Question;
};

/** Others are ahead: it is decided by itself once they are over. */
export type Waiting = Of<"wait"> & { readonly allowed: false; readonly pending: true };

/** It does not go on. */
export type Refused = Of<"block" | "error" | "lock_task" | "terminate" | "rejected" | "invalid_input" | "discard"> & {
  readonly allowed: false;
  readonly pending: false;
};

export type Decision = Allowed | Responded | Suspended | Waiting | Refused;

/** What a turn of the model came to. */
export interface Turn {
  /** Whether the turn is within the limits; without that no call is looked at. */
  readonly limits: Decision;
  /** How far each call came, in the order of the turn. */
  readonly calls: readonly Decision[];
  /** What has waited and was decided because of it. */
  readonly decided: readonly Decision[];
}

/** What the results of several calls came to. */
export interface Results {
  /** What the model receives of each, in the order in which they were given. */
  readonly calls: readonly Decision[];
  readonly decided: readonly Decision[];
}

/** A decision as the engine writes it: with what it is about, and what it asks. */
export type WrittenDecision = Written & { asks?: Question; kind?: Kind; function?: string; id?: string };

const NOTHING: readonly never[] = Object.freeze([]);
const NO_ARGUMENTS: JsonObject = Object.freeze({});

/** Members that {@link ofWritten} names or reads itself. */
const OWN: ReadonlySet<string> = new Set(["verdict", "value", "trace", "decided", "terms", "id"]);
/** Lists that an answer leaves out where they are empty: those of every verdict, and those of some. */
const LISTS = ["observed", "findings", "notes", "counters"] as const;
const LISTS_OF: { readonly [V in Verdict]?: readonly string[] } = {
  wait: ["waitsFor", "because", "heldBy"],
  rejected: ["waitsFor", "because"],
};

/** The same as a value for programs. */
export function ofWritten(written: WrittenDecision): Decision {
  const { verdict } = written;
  const decision: Record<string, unknown> = {
    verdict,
    allowed: verdict === "allow" || verdict === "route",
    pending: verdict === "suspend" || verdict === "wait",
    kind: "call",
    steps: written.trace ?? NOTHING,
    decided: written.decided === undefined || written.decided.length === 0 ? NOTHING : written.decided.map(waited),
  };
  for (const list of LISTS) decision[list] = NOTHING;
  for (const list of LISTS_OF[verdict] ?? NOTHING) decision[list] = NOTHING;
  for (const [name, member] of Object.entries(written)) if (member != null && member !== "" && !OWN.has(name)) decision[camel(name)] = member;
  if (written.id !== undefined && decision.call === undefined) decision.call = written.id;
  switch (verdict) {
    case "allow":
    case "route": {
      const value = written.value as Json | undefined;
      decision.value = value ?? null;
      decision.arguments = decision.call !== undefined && isObject(value) ? value : NO_ARGUMENTS;
      const text = textOf(value);
      if (text !== undefined) decision.text = text;
      const terms = verdict === "allow" ? written.terms : undefined;
      if (terms?.delay_ms != null) decision.delayMs = terms.delay_ms;
      decision.obligations = terms?.obligations ?? NOTHING;
      decision.credentials = terms?.credentials ?? NOTHING;
      break;
    }
    case "respond":
      decision.value = written.value ?? null;
      break;
    case "suspend":
    case "wait":
      break;
    default:
      // what a later release answers is no permission
      decision.message ??= verdict;
  }
  return Object.freeze(decision) as unknown as Decision;
}

/** `waits_for` as `waitsFor`. */
export function camel(name: string): string {
  return name.includes("_") ? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name;
}

function waited({ call, kind, function: name, decision }: Schemas["DecidedCall"]): Decision {
  return ofWritten({ ...(decision as WrittenDecision), id: call, kind, function: name });
}

/** The text of a message: that of its parts, one after the other. */
function textOf(value: Json | undefined): string | undefined {
  if (!isObject(value) || !Array.isArray(value.message)) return undefined;
  let text = "";
  for (const part of value.message as readonly Json[]) {
    if (isObject(part) && typeof part.text === "string") text += part.text;
  }
  return text;
}
