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
/** What an operation asks of whoever runs the task. */
export type Question = Schemas["Question"];

interface Common {
  readonly verdict: Verdict;
  /** The id of a call; of an input, event or response that waits the id that the task made up for it. */
  readonly call?: string;
  /** The kind of operation that it is about. */
  readonly kind: Kind;
  /** The function of a call, where it is known: in a turn, among results, and of those that have waited. */
  readonly function?: string;
  /** Why the task is locked or terminated. */
  readonly reason?: string;
  /** The text for the user, where the step that stopped it has one. */
  readonly userMessage?: string;
  /** The rule that decided, unless nothing stood in the way. */
  readonly decidedBy?: Origin;
  /** The steps that were evaluated, in order. */
  readonly steps: readonly Step[];
  readonly observed: readonly ObservedStep[];
  /** What would have come of the operation, where a whole engine observes. */
  readonly enforced?: Schemas["Enforced"];
  readonly findings: readonly Finding[];
  /** What reviewers have added to their answers, for the model; without the notes that a policy keeps private. */
  readonly notes: readonly string[];
  /** The calls, inputs and events that waited and were decided because of it. */
  readonly decided: readonly Decision[];
  readonly limit?: Limit;
  /** The switch by which an operator stopped it. */
  readonly switch?: Switch;
  /** The values that the agent exposes with a response. */
  readonly exposes?: JsonObject;
  readonly cost: number;
  /** The places in it that a manifest marks as secret. A caller that writes the value down leaves them out. */
  readonly secret?: Schemas["Hidden"];
}

/** The operation goes on. */
export interface Allowed extends Common {
  readonly verdict: "allow" | "route";
  readonly allowed: true;
  readonly pending: false;
  /** The arguments to run a call with. Empty where the operation is no call that is let through. */
  readonly arguments: JsonObject;
  /** The value to go on with: resolved arguments, the result for the model, the admitted input, the delivered response. */
  readonly value: Json;
  /** The text of the admitted or delivered message, if `value` is one. */
  readonly text?: string;
  /** The milliseconds to wait before the call is carried out. */
  readonly delayMs?: number;
  readonly obligations: readonly Obligation[];
  readonly credentials: readonly Credential[];
}

/** A reviewer gave the result: the call does not run, and the model receives `value`. */
export interface Responded extends Common {
  readonly verdict: "respond";
  readonly allowed: false;
  readonly pending: false;
  readonly value: Json;
}

/** Somebody is asked first. */
export interface Suspended extends Common {
  readonly verdict: "suspend";
  readonly allowed: false;
  readonly pending: true;
  /** The name under which `resume` takes the answer. */
  readonly question?: number;
  readonly asks?: Question;
  /** Who is asked, if it is a person. */
  readonly reviewer?: string;
}

/** Others are ahead: it is decided by itself once they are over. */
export interface Waiting extends Common {
  readonly verdict: "wait";
  readonly allowed: false;
  readonly pending: true;
  readonly waitsFor: readonly string[];
  /** For calls of `waitsFor`, the expression that reads what the call may still change. */
  readonly because: readonly Schemas["WaitReason"][];
  /** The questions of the open reviews that it waits for. */
  readonly heldBy: readonly number[];
}

/** It does not go on. */
export interface Refused extends Common {
  readonly verdict: "block" | "error" | "lock_task" | "terminate" | "rejected" | "invalid_input" | "discard";
  readonly allowed: false;
  readonly pending: false;
  /** The text for the model with `block` and `error`, for the caller otherwise. */
  readonly message: string;
  readonly waitsFor: readonly string[];
}

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
export type WrittenDecision = Partial<Schemas["Decision"]> &
  Pick<Schemas["Decision"], "verdict"> & { asks?: Question; kind?: Kind; function?: string; id?: string };

const NOTHING: readonly never[] = Object.freeze([]);
const NO_ARGUMENTS: JsonObject = Object.freeze({});

/** The same as a value for programs. */
export function ofWritten(written: WrittenDecision): Decision {
  const { verdict, value } = written;
  const decision: Record<string, unknown> = {
    verdict,
    allowed: verdict === "allow" || verdict === "route",
    pending: verdict === "suspend" || verdict === "wait",
    kind: written.kind ?? "call",
    steps: written.trace ?? NOTHING,
    observed: written.observed ?? NOTHING,
    findings: written.findings ?? NOTHING,
    notes: written.notes ?? NOTHING,
    decided: written.decided === undefined || written.decided.length === 0 ? NOTHING : written.decided.map(waited),
    cost: written.cost ?? 0,
  };
  const call = written.call ?? written.id;
  if (call != null) decision.call = call;
  if (written.function) decision.function = written.function;
  if (written.reason != null) decision.reason = written.reason;
  if (written.user_message != null) decision.userMessage = written.user_message;
  decision.notes = written.notes ?? NOTHING;
  if (written.decided_by != null) decision.decidedBy = written.decided_by;
  if (written.limit != null) decision.limit = written.limit;
  if (written.switch != null) decision.switch = written.switch;
  if (written.enforced != null) decision.enforced = written.enforced;
  if (written.exposes != null) decision.exposes = written.exposes;
  if (written.secret != null) decision.secret = written.secret;
  switch (verdict) {
    case "allow":
    case "route": {
      decision.value = value ?? null;
      decision.arguments = call != null && isObject(value) ? value : NO_ARGUMENTS;
      const text = textOf(value as Json);
      if (text !== undefined) decision.text = text;
      const terms = written.terms;
      if (terms?.delay_ms != null) decision.delayMs = terms.delay_ms;
      decision.obligations = terms?.obligations ?? NOTHING;
      decision.credentials = terms?.credentials ?? NOTHING;
      break;
    }
    case "respond":
      decision.value = value ?? null;
      break;
    case "suspend":
      if (written.question != null) decision.question = written.question;
      if (written.asks != null) decision.asks = written.asks;
      if (written.reviewer != null) decision.reviewer = written.reviewer;
      break;
    case "wait":
      decision.waitsFor = written.waits_for ?? NOTHING;
      decision.because = written.because ?? NOTHING;
      decision.heldBy = written.held_by ?? NOTHING;
      break;
    default:
      // whatever a later release answers is no yes
      decision.message = written.message ?? written.reason ?? verdict;
      decision.waitsFor = written.waits_for ?? NOTHING;
  }
  return Object.freeze(decision) as unknown as Decision;
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
