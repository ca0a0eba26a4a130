/**
 * Reviews, as interrupts of LangGraph.
 *
 * In: the calls of a turn that have no answer yet. Out: one interrupt for all of their reviews, whose answers are passed on. The node that
 * interrupts runs again from its beginning when the answers are there, so it finds the same reviews again.
 */

import { type AnyTask, type JsonObject, MisuseError, type Person, type Review } from "@celador/api";
import { isMisuse } from "@celador/api/adapter";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { interrupt } from "@langchain/langgraph";
import type { HITLRequest, HITLResponse } from "langchain";

/** The ids of the calls of the last turn that have no answer, in the order of the turn. The answers stand behind it, or in `whole`. */
export function waiting(messages: readonly BaseMessage[], whole: readonly BaseMessage[] = []): string[] {
  const answered = new Set(whole.flatMap((message) => (ToolMessage.isInstance(message) ? [message.tool_call_id] : [])));
  for (const message of [...messages].reverse()) {
    if (ToolMessage.isInstance(message)) answered.add(message.tool_call_id);
    else if (AIMessage.isInstance(message)) return (message.tool_calls ?? []).flatMap(({ id }) => (id === undefined || answered.has(id) ? [] : [id]));
    else break;
  }
  return [];
}

/** Asks for the reviews of these calls, and passes the answers on. Says whether there were some. */
export async function ask(task: AnyTask, calls: readonly string[]): Promise<boolean> {
  const reviews = await task.reviews({ state: "all" });
  // the last one of each call; one that was closed meanwhile keeps its place, so that the answers fit
  const own = calls.flatMap((call) => reviews.filter((review) => review.call === call).slice(-1));
  // calls may wait for a review of something else, such as of a call of another run
  const asked = own.some((review) => review.state === "open") ? own : reviews.filter((review) => review.state === "open");
  if (asked.length === 0) return false;
  const request: HITLRequest = {
    actionRequests: asked.map((review) => ({
      name: review.function ?? "",
      args: (review.arguments ?? {}) as Record<string, unknown>,
      description: review.text ?? `${review.reviewer} is asked.`,
    })),
    reviewConfigs: asked.map((review) => ({ actionName: review.function ?? "", allowedDecisions: ["approve", "edit", "reject"] })),
  };
  const { decisions } = Object(interrupt<HITLRequest, HITLResponse>(request)) as Partial<HITLResponse>;
  if (!Array.isArray(decisions) || decisions.length !== asked.length) {
    throw new MisuseError("bad_resume", `${asked.length} calls are in review: expected \`decisions\` with one for each`);
  }
  const passed = decisions.map(wordOf);
  for (const [at, review] of asked.entries()) await answer(review as Review, passed[at]!);
  return true;
}

type Passed = { readonly word: "approve" } | { readonly word: "deny"; readonly note?: string } | { readonly word: "edit"; readonly args: JsonObject };

function wordOf(decision: HITLResponse["decisions"][number]): Passed {
  switch (decision.type) {
    case "approve":
      return { word: "approve" };
    case "edit":
      return { word: "edit", args: decision.editedAction.args as JsonObject };
    case "reject":
      return decision.message === undefined ? { word: "deny" } : { word: "deny", note: decision.message };
    default:
      throw new MisuseError("bad_resume", "a decision has one of the types `approve`, `edit` and `reject`");
  }
}

/** Who was first counts: an answer that comes after another one changes nothing. */
async function answer(review: Review, passed: Passed, by?: Person): Promise<void> {
  const who = by === undefined ? {} : { by };
  try {
    if (passed.word === "approve") await review.approve(who);
    else if (passed.word === "edit") await review.edit(passed.args, who);
    else await review.deny(passed.note === undefined ? who : { ...who, note: passed.note });
  } catch (error) {
    if (!isMisuse(error, "review_closed")) throw error;
  }
}

/** Takes back what waits although nobody is asked and nothing runs: what it waits for was begun elsewhere and may never be reported. */
export async function stuck(task: AnyTask, calls: readonly string[]): Promise<void> {
  for (const call of calls) {
    const standing = await task.standing(call);
    if (standing.verdict === "wait" && !(await isMoving(task, standing.waitsFor, calls))) await task.withdraw(call);
  }
}

/** Whether one of the calls that are waited for is about to be tried again, and will be let through then. */
async function isMoving(task: AnyTask, ahead: readonly string[], calls: readonly string[]): Promise<boolean> {
  for (const call of ahead) {
    if (calls.includes(call) && !(await task.standing(call)).pending) return true;
  }
  return false;
}
