/**
 * Tools with a decision around each call.
 *
 * In: the tools of a `generateText` or `streamText`. Out: the same tools, under the same names and types. `needsApproval` is true where
 * a policy asks a person whom the SDK can ask, `execute` runs with the arguments of the decision and returns what the model may see.
 */

import { type AnyTask, type JsonObject, MisuseError, type Suspended, type Tool as BroughtTool, type Waiting } from "@celador/api";
import { next } from "@celador/api/adapter";
import { type ModelMessage, type Tool, type ToolSet, asSchema } from "ai";
import { answered, approvals, denials, denied, isAddressed } from "./approvals.js";
import type { Calls, Course } from "./calls.js";
import type { Guarded } from "./options.js";
import { object } from "./values.js";

interface CallOptions {
  readonly toolCallId: string;
  readonly messages: ModelMessage[];
}

/** The tools as `agentFor` takes them: a JSON Schema for each, so that policies need no manifest. */
export async function toolsOf(tools: ToolSet): Promise<BroughtTool[]> {
  const brought = Object.entries(tools).map(async ([name, tool]) => ({
    name,
    ...(typeof tool.description === "string" ? { description: tool.description } : {}),
    inputSchema: (await asSchema(tool.inputSchema).jsonSchema) as unknown as JsonObject,
  }));
  return await Promise.all(brought);
}

export function guardedTools<TOOLS extends ToolSet>(guarded: Guarded, calls: Calls, tools: TOOLS): TOOLS {
  const asked: Asked = { questions: new Map(), held: new Set() };
  const entries = Object.entries(tools).map(([name, tool]) => [name, guardedTool(guarded, calls, asked, name, tool)] as const);
  return Object.fromEntries(entries) as TOOLS;
}

interface Asked {
  /** The calls that the AI SDK asks a person about, with the question of each; none of a call that is only behind the review of another. */
  readonly questions: Map<string, number | undefined>;
  /** The calls that no answer of the SDK has brought further. */
  readonly held: Set<string>;
}

function guardedTool(guarded: Guarded, calls: Calls, asked: Asked, name: string, tool: Tool): Tool {
  if (typeof tool.execute !== "function") {
    throw new MisuseError("no_execute", `the tool \`${name}\` has no \`execute\`: what runs elsewhere cannot be held here`);
  }
  const { task } = guarded;
  return {
    ...tool,
    async needsApproval(input: unknown, options: CallOptions): Promise<boolean> {
      const { toolCallId, messages } = options;
      const step = await next(task, { id: toolCallId, name, arguments: object(input) });
      // a call behind a review has no other way to be kept for later than to be asked about as well
      const isBehind = step.kind === "hold" && (await isBehindOne(guarded, step.pending));
      const isAsked = step.kind === "ask" && (await isAddressed(guarded, toolCallId));
      // an answer has come back: whether the call may run is seen when it is about to
      if (isAsked || isBehind || wasAsked(messages, toolCallId)) {
        asked.questions.set(toolCallId, step.kind === "ask" ? step.pending.question : undefined);
        return true;
      }
      const own = tool.needsApproval;
      return typeof own === "function" ? await own(input, options as never) : (own ?? false);
    },
    async execute(input: unknown, options: CallOptions): Promise<unknown> {
      const call = { id: options.toolCallId, name, arguments: object(input), input };
      // a call that goes on may be behind one that the user has denied just now
      for (const [id, reason] of denials(options.messages)) await denied(guarded, id, reason);
      const answers = approvals(options.messages);
      let question = asked.questions.get(call.id);
      const course = await calls.run(call, options as never, {
        // the AI SDK runs a call that it has asked about only where the answer was yes, which counts once
        async review(pending) {
          if (question === undefined || pending.question !== question || !answers.has(call.id)) return false;
          question = undefined;
          const decision = await answered(guarded, call.id, pending, "approve");
          return decision.verdict !== "suspend" || decision.question !== pending.question;
        },
        // the calls that run beside it are reported soon; an answer that the SDK does not have would be waited for in vain
        comes: async (pending) => !(await isStuck(task, pending, answers, asked.held)),
      });
      if (course.isHeld) asked.held.add(call.id);
      return toModel(course);
    },
  } as Tool;
}

/** Whether what a call waits for is a person whom the SDK asks. */
async function isBehindOne(guarded: Guarded, pending: Waiting | Suspended): Promise<boolean> {
  for (const id of pending.verdict === "suspend" ? [] : pending.waitsFor) {
    const ahead = await guarded.task.standing(id);
    if (ahead.verdict === "suspend" && (await isAddressed(guarded, id))) return true;
    if (ahead.verdict === "wait" && (await isBehindOne(guarded, ahead))) return true;
  }
  return false;
}

/** Whether something waits for a person whose answer is not about to come with this run. */
async function isStuck(task: AnyTask, pending: Waiting, answers: ReadonlySet<string>, held: ReadonlySet<string>): Promise<boolean> {
  for (const id of pending.waitsFor) {
    const ahead = await task.standing(id);
    if (ahead.verdict === "suspend" && (held.has(id) || !answers.has(id))) return true;
    if (ahead.verdict === "wait" && (held.has(id) || (await isStuck(task, ahead, answers, held)))) return true;
  }
  return false;
}

function toModel(course: Course): unknown {
  // the AI SDK tells the model of an error, and not of a result
  if (course.isHeld) throw new Error(course.text);
  const { isError, value } = course;
  if (isError) throw new Error(typeof value === "string" ? value : JSON.stringify(value));
  return value;
}

/** Whether the messages hold a request for approval of this call. */
function wasAsked(messages: readonly ModelMessage[], call: string): boolean {
  return messages.some(
    ({ role, content }) =>
      role === "assistant" &&
      typeof content !== "string" &&
      content.some((part) => part.type === "tool-approval-request" && part.toolCallId === call),
  );
}
