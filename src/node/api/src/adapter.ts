/**
 * What adapters for agent frameworks share: how one call of a turn comes from the model's wish to what the model is told.
 *
 * In: a task, a call, the framework's way to run the tool. Out: what the model is told. Nothing runs that was not let through; whatever
 * throws on the way keeps the tool from running.
 */

import type { Allowed, Decision, Suspended, Waiting } from "./decision.js";
import { why } from "./errors.js";
import type { Json, JsonObject } from "./json.js";
import { whoIsAsked } from "./judge.js";
import type { Awaitable } from "./port.js";
import { type AnyTask, claimantId, messageOf } from "./task.js";

/** A call as a framework has it. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** Whether a request could not be, for one of these reasons. Told by its words: a package may be loaded twice, for `import` and `require`. */
export function isMisuse(error: unknown, ...codes: readonly string[]): boolean {
  const { name, code } = Object(error) as { name?: string; code?: string };
  return name === "MisuseError" && code !== undefined && codes.includes(code);
}

/** What is to be done with a call now. */
export type Next =
  | { readonly kind: "run"; readonly allowed: Allowed }
  /** The model is told this in the place of a result. */
  | {
      readonly kind: "tell";
      readonly value: Json;
      readonly isError: boolean;
      /** What reviewers have added, which the model reads beside the value. */
      readonly notes: readonly string[];
    }
  /** A person is asked. */
  | { readonly kind: "ask"; readonly pending: Suspended }
  /** Other calls, or the reviews of other calls, are ahead. */
  | { readonly kind: "hold"; readonly pending: Waiting };

/** What the model is told. */
export type Told = Extract<Next, { kind: "tell" }>;

function tell(value: Json, isError = true, notes: readonly string[] = []): Told {
  return { kind: "tell", value, isError, notes };
}

/** A value with the notes of reviewers beside it, where there are any. */
export function withNotes({ value, notes }: Pick<Told, "value" | "notes">): Json {
  return notes.length === 0 ? value : { result: value, notes };
}

/** What is to be done with a call. It may be asked for again at any time, in any process, and counts once. */
export async function next(task: AnyTask, call: ToolCall): Promise<Next> {
  const decision = await task.before(call.name, call.arguments, { id: call.id });
  if (decision.allowed) return { kind: "run", allowed: decision };
  if (decision.verdict !== "rejected") return await standing(task, call.id, decision);
  // its result was reported already, or the task takes no step any more
  try {
    const told = await task.standing(call.id);
    return told.allowed ? tell(told.value, false, told.notes) : await standing(task, call.id, told);
  } catch (error) {
    if (!isMisuse(error, "unknown_call")) throw error;
    return tell(why(decision));
  }
}

async function standing(task: AnyTask, id: string, decision: Decision): Promise<Next> {
  switch (decision.verdict) {
    case "wait":
      return { kind: "hold", pending: decision };
    case "suspend":
      if (decision.reviewer !== undefined) return { kind: "ask", pending: decision };
      await task.withdraw(id);
      return tell("The call did not run: its policy asks for something that only a runtime can do.");
    case "respond":
      return tell(decision.value, false, decision.notes);
    default:
      return tell(why(decision));
  }
}

/** Whether something waits for a person, itself or through the calls that it waits for. */
export async function waitsForPerson(task: AnyTask, pending: Waiting | Suspended): Promise<boolean> {
  const seen = new Set<string>();
  const ahead: (Waiting | Suspended)[] = [pending];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    if (next.verdict === "suspend") return true;
    for (const call of next.waitsFor) {
      if (seen.has(call)) continue;
      seen.add(call);
      const decision = await task.standing(call);
      if (decision.pending) ahead.push(decision);
    }
  }
  return false;
}

/** Runs a tool. What it throws is a result with an error; of an interrupt of LangGraph, which is thrown, nothing is reported. */
export interface Carrying {
  readonly run: (args: JsonObject) => Awaitable<Json>;
  /** Sees to what policies ask for beside the call; without it a call with obligations or credentials is taken back. */
  readonly fulfil?: (allowed: Allowed) => Awaitable<void>;
}

/**
 * Carries a call out that was let through, and reports it. `ask` is what a person would have to see of the result first. The call is claimed first, so
 * that of several processes one runs it; in any other one it throws `MisuseError` (`call_claimed`).
 */
export async function carryOut(
  task: AnyTask,
  call: ToolCall,
  allowed: Allowed,
  { run, fulfil }: Carrying,
): Promise<Told | Extract<Next, { kind: "ask" }>> {
  const isAskedFor = allowed.obligations.length > 0 || allowed.credentials.length > 0;
  if (isAskedFor && fulfil === undefined) {
    await task.withdraw(call.id);
    return tell("The call did not run: nobody here sees to what policies ask for beside it.");
  }
  const claimant = claimantId();
  const claimed = await task.claim(call.id, claimant);
  if (!claimed.allowed) return tell(why(claimed));
  try {
    if (allowed.delayMs !== undefined) await sleep(allowed.delayMs);
    await fulfil?.(allowed);
  } catch (error) {
    await task.withdraw(call.id);
    throw error;
  }
  let output: Json;
  let hasFailed = false;
  try {
    output = (await run(allowed.arguments)) ?? null;
  } catch (error) {
    // an interrupt: the tool is called again from its beginning, in whichever process
    if (Object(error).is_bubble_up === true) {
      await task.release(call.id, claimant);
      throw error;
    }
    [output, hasFailed] = [messageOf(error), true];
  }
  const decision = await task.after(call.id, output, { status: hasFailed ? "errored" : "successful" });
  if (decision.allowed) return tell(decision.value, hasFailed, decision.notes);
  if (decision.verdict === "suspend" && decision.reviewer !== undefined) return { kind: "ask", pending: decision };
  if (decision.verdict === "respond") return tell(decision.value, false, decision.notes);
  return tell(decision.pending ? "The result is withheld." : why(decision));
}

/** The beginning of what stands in the place of a result while the call is held. */
const HELD = "This call is held: ";

/** What stands in the place of a result while people are asked; the call keeps its place, and goes on once they have answered. */
export async function held(task: AnyTask, pending: Waiting | Suspended): Promise<string> {
  const who = pending.verdict === "suspend" ? pending.reviewer : await whoIsAsked(task);
  return `${HELD}it waits for ${who === undefined || who === "" ? "other calls" : `the answer of ${who}`}. It goes on once that is there.`;
}

/** Whether a text stands in the place of a result that is still to come. A framework may put the name of an error ahead of it. */
export function isHeldText(text: unknown): boolean {
  return typeof text === "string" && text.replace(/^\w*Error: /, "").startsWith(HELD);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** An answer to a review as the person who runs the agent gave it. */
export type Answer =
  | { readonly kind: "approve"; readonly note?: string }
  | { readonly kind: "deny"; readonly note?: string }
  | { readonly kind: "edit"; readonly arguments: JsonObject; readonly note?: string };

/** Passes the answer of a person on to the question that a call asks. */
export async function answer(task: AnyTask, pending: Suspended, answer: Answer): Promise<Decision> {
  const { kind, ...members } = answer;
  const { question } = pending;
  return await task.resume({ review: { answer: kind, ...members } }, question === undefined ? {} : { question });
}

export { asJson, readExactly } from "./exact.js";
export { Judge, type Judged, type Part, type Place, REFUSED, canonical, notice, textPart, whoIsAsked } from "./judge.js";
export { type Form, type Treatment, UnknownForms, unknownForm } from "./forms.js";
export { messageOf, why };
