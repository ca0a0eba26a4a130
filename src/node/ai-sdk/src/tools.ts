/**
 * Tools with a decision around each call.
 *
 * In: the tools of a `generateText` or `streamText`. Out: the same tools, under the same names and types. `needsApproval` is true where
 * a policy asks a person, `execute` runs with the arguments of the decision and returns what the model may see.
 */

import {
  type AnyTask,
  type Awaitable,
  type Json,
  type JsonObject,
  MisuseError,
  type Suspended,
  type Tool as BroughtTool,
  type Waiting,
} from "@celador/api";
import { type Told, type ToolCall, carryOut, next, takenBack, waitsForPerson, withheld } from "@celador/api/adapter";
import { type ModelMessage, type Tool, type ToolSet, asSchema } from "ai";
import { answered, denials, denied } from "./approvals.js";
import type { Guarded } from "./options.js";

interface CallOptions {
  readonly toolCallId: string;
  readonly messages: ModelMessage[];
}

/** The tools as `agentFor` takes them: a JSON Schema for each, so that policies need no manifest. */
export async function toolsOf(tools: ToolSet): Promise<BroughtTool[]> {
  const brought = Object.entries(tools).map(async ([name, tool]) => ({
    name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
    inputSchema: (await asSchema(tool.inputSchema).jsonSchema) as unknown as JsonObject,
  }));
  return await Promise.all(brought);
}

export function guardedTools<TOOLS extends ToolSet>(guarded: Guarded, tools: TOOLS): TOOLS {
  const asked: Asked = new Map();
  const entries = Object.entries(tools).map(([name, tool]) => [name, guardedTool(guarded, asked, name, tool)] as const);
  return Object.fromEntries(entries) as TOOLS;
}

/** The calls that the AI SDK asks a person about, with the question of each; none of a call that is only behind the review of another. */
type Asked = Map<string, number | undefined>;

function guardedTool(guarded: Guarded, asked: Asked, name: string, tool: Tool): Tool {
  const { execute } = tool;
  if (typeof execute !== "function") {
    throw new MisuseError("no_execute", `the tool \`${name}\` has no \`execute\`: what runs elsewhere cannot be held here`);
  }
  const { task, options: choices } = guarded;
  return {
    ...tool,
    async needsApproval(input: unknown, options: CallOptions): Promise<boolean> {
      const { toolCallId, messages } = options;
      const step = await next(task, { id: toolCallId, name, arguments: object(input) });
      // a call behind a review has no other way to be kept for later than to be asked about as well
      const isBehind = step.kind === "hold" && (await waitsForPerson(task, step.pending));
      // an answer has come back: whether the call may run is seen when it is about to
      if (step.kind === "ask" || isBehind || wasAsked(messages, toolCallId)) {
        asked.set(toolCallId, step.kind === "ask" ? step.pending.question : undefined);
        return true;
      }
      const own = tool.needsApproval;
      return typeof own === "function" ? await own(input, options) : (own ?? false);
    },
    async execute(input: unknown, options: CallOptions): Promise<unknown> {
      const call: ToolCall = { id: options.toolCallId, name, arguments: object(input) };
      const run = async (args: JsonObject) => plain(await last(execute(await parsed(tool, args, input), options)));
      const fulfil = choices.fulfil === undefined ? {} : { fulfil: choices.fulfil };
      // a call that goes on may be behind one that the user has denied just now
      for (const [id, reason] of denials(options.messages)) await denied(guarded, id, reason);
      for (let question = asked.get(call.id); ; question = undefined) {
        const step = await next(task, call);
        if (step.kind === "tell") return toModel(step);
        if (step.kind === "run") {
          const told = await carryOut(task, call, step.allowed, { run, ...fulfil });
          return toModel(told.kind === "ask" ? await withheld(task, call, told.pending) : told);
        }
        if (step.kind === "hold") {
          // the calls that run beside it are reported soon; a person who was not asked yet would be waited for in vain
          const unless = (pending: Waiting | Suspended) => isUnasked(task, pending, asked);
          const decision = await task.decided(call.id, { unless });
          if (decision.verdict !== "wait") continue;
          return toModel(await takenBack(task, call, "a person has to answer for another call first. Make this call again afterwards"));
        }
        // the AI SDK runs a call that it has asked about only where the answer was yes
        const isApproved = question !== undefined && step.pending.question === question;
        const decision = isApproved ? await answered(guarded, call.id, step.pending, "approve") : step.pending;
        if (decision.verdict !== "suspend") continue;
        const who = decision.reviewer ?? "somebody";
        const what = isApproved ? `it waits for the answer of ${who}` : `it needs the approval of ${who}. Make it again: they are asked then`;
        return toModel(await takenBack(task, call, what));
      }
    },
  } as Tool;
}

/** Whether something waits for a person whom the AI SDK has not asked: the calls that it has asked about are answered as they run. */
async function isUnasked(task: AnyTask, pending: Waiting | Suspended, asked: Asked): Promise<boolean> {
  if (pending.verdict === "suspend") return false;
  for (const id of pending.waitsFor) {
    const decision = await task.standing(id);
    if (decision.verdict === "suspend" && !asked.has(id)) return true;
    if (decision.verdict === "wait" && (await isUnasked(task, decision, asked))) return true;
  }
  return false;
}

function toModel({ isError, value }: Told): Json {
  // the AI SDK tells the model of an error, and not of a result
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

/** Arguments as the tool takes them: its schema may give defaults and other types. */
async function parsed(tool: Tool, args: JsonObject, input: unknown): Promise<never> {
  if (isSame(args, input)) return input as never;
  const { validate } = asSchema(tool.inputSchema);
  if (validate === undefined) return args as never;
  const valid = await validate(args);
  if (!valid.success) throw new Error("the arguments that policies have left do not fit the tool");
  return valid.value as never;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The last of what a tool yields. What it yields on the way nobody has decided on, so nobody sees it. */
async function last(result: unknown): Promise<unknown> {
  const awaited = await (result as Awaitable<unknown>);
  if (Object(awaited)[Symbol.asyncIterator] === undefined) return awaited;
  let latest: unknown;
  for await (const next of awaited as AsyncIterable<unknown>) latest = next;
  return latest;
}

/** What a tool returned, as JSON. */
function plain(value: unknown): Json {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as Json);
}

function object(input: unknown): JsonObject {
  return plain(input ?? {}) as JsonObject;
}
