/** Reviews, as approval requests of the AI SDK. */

import { type Decision, type Person, type Suspended, type AnyTask } from "@celador/api";
import { answer, isMisuse } from "@celador/api/adapter";
import type { ModelMessage } from "ai";
import type { Guarded } from "./options.js";

/** Answers the review that a call waits for, by whoever answers approval requests; and says how the call stands then. */
export async function answered(
  { task, options }: Guarded,
  call: string,
  pending: Suspended,
  word: "approve" | "deny",
  note?: string,
): Promise<Decision> {
  const how = note === undefined ? {} : { note };
  if (options.answers === "runtime") return await answer(task, pending, { kind: word, ...how });
  const reviews = await task.reviews();
  const review = reviews.find((review) => review.call === call);
  if (review === undefined) return await task.standing(call);
  const by = options.answers ?? (await userOf(task));
  try {
    await (word === "approve" ? review.approve({ by, ...how }) : review.deny({ by, ...how }));
  } catch (error) {
    // the review is somebody else's, and waits for them
    if (!isMisuse(error, "not_addressed", "own_judge")) throw error;
  }
  return await task.standing(call);
}

/** What the user has denied is taken back, so that what waits for it goes on: the AI SDK calls no tool for it. */
export async function denied(guarded: Guarded, call: string, reason?: string): Promise<void> {
  const { task } = guarded;
  const standing = await task.standing(call);
  if (standing.verdict === "suspend") {
    const decision = await answered(guarded, call, standing, "deny", reason);
    // a review of somebody else: the user does not want the call any more, which nobody has to approve
    if (decision.pending) await task.withdraw(call);
  } else if (standing.pending) {
    await task.withdraw(call);
  }
}

/** Whether the review of a call asks whoever answers the requests of the AI SDK. A review of somebody else is theirs alone, and the user is not asked for it. */
export async function isAddressed({ task, options }: Guarded, call: string): Promise<boolean> {
  if (options.answers === "runtime") return true;
  const review = (await task.reviews()).find((review) => review.call === call);
  if (review === undefined) return false;
  const by = options.answers ?? (await userOf(task));
  const { id, email, groups = [] } = typeof by === "string" ? { id: by } : by;
  const names = [id, email, ...groups.map((group) => `group:${group}`)].flatMap((name) => (name === undefined ? [] : [name.toLowerCase()]));
  return (review.panel?.all_of.flatMap(({ any_of }) => any_of) ?? [review.reviewer]).some((name) => names.includes(name.toLowerCase()));
}

/** The calls that the last of these messages says yes to. */
export function approvals(messages: readonly ModelMessage[]): Set<string> {
  return new Set(answers(messages).flatMap(({ call, approved }) => (approved ? [call] : [])));
}

/** The calls that the last of these messages says no to, with the reasons. */
export function denials(messages: readonly ModelMessage[]): Map<string, string | undefined> {
  return new Map(answers(messages).flatMap(({ call, approved, reason }) => (approved ? [] : [[call, reason] as const])));
}

interface Answer {
  readonly call: string;
  readonly approved: boolean;
  readonly reason: string | undefined;
}

function answers(messages: readonly ModelMessage[]): Answer[] {
  const calls = new Map<string, string>();
  const found: Answer[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    if (typeof content === "string" || (role !== "assistant" && role !== "tool")) continue;
    const isLast = at === messages.length - 1;
    for (const part of content) {
      if (part.type === "tool-approval-request") calls.set(part.approvalId, part.toolCallId);
      if (!isLast || part.type !== "tool-approval-response") continue;
      const call = calls.get(part.approvalId);
      if (call !== undefined) found.push({ call, approved: part.approved, reason: part.reason });
    }
  }
  return found;
}

async function userOf(task: AnyTask): Promise<Person> {
  const { user } = (await task.context("user")) as { user?: { id?: string; email?: string | null } };
  return { id: user?.id ?? "", ...(user?.email == null ? {} : { email: user.email }) };
}
