/**
 * Celador for LangChain: a middleware for `createAgent`.
 *
 * In: an agent under policies. Out: a middleware that holds the tools, the limits and the texts of a LangChain agent to them. A thread of
 * LangGraph is a task, so what a thread has done counts, also after a restart. Reviews are interrupts in the form of LangChain's own
 * `humanInTheLoopMiddleware`: all that are open at once are one interrupt, and the calls beside them that need no review have run by then.
 * Let it be the last of several middlewares, so that none of them changes what it has judged.
 */

import { type Allowed, type AnyTask, type Awaitable, type Decision, type Json, type JsonObject, MisuseError } from "@celador/api";
import { type ToolCall as Call, carryOut, next, why } from "@celador/api/adapter";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { ask, stuck, waiting } from "./reviews.js";
import { asJson, textOf, withText } from "./text.js";

export { toolsOf } from "./tools.js";

export interface MiddlewareOptions {
  /** Tokens of the model are held until the whole text was judged; `passed` lets them out, for agents without rules about responses. */
  readonly streamed?: "held" | "passed";
  /** Sees to the obligations and credentials of a call; without it calls that have some are refused. */
  readonly fulfil?: (allowed: Allowed) => Awaitable<void>;
}

/** The task of a thread. */
export type TaskOfThread = (thread: string, runtime: unknown) => Awaitable<AnyTask>;

/** The tag by which LangGraph keeps what a model says out of its streams. */
const HELD = "nostream";

/** What stands in the history in the place of a message that was refused, so that no later turn of the model reads it. */
const REFUSED = "(This message was refused.)";

/** A middleware that holds an agent to policies: `celadorMiddleware((thread) => agent.task(thread, { user }))`, or with the one task. */
export function celadorMiddleware(tasks: AnyTask | TaskOfThread, options: MiddlewareOptions = {}): AgentMiddleware {
  const taskOf = async (runtime: unknown): Promise<AnyTask> =>
    typeof tasks === "function" ? await tasks(threadOf(runtime), runtime) : tasks;
  const fulfil = options.fulfil === undefined ? {} : { fulfil: options.fulfil };

  return createMiddleware({
    name: "Celador",

    beforeAgent: {
      canJumpTo: ["end"],
      hook: async (state, runtime) => {
        const message = state.messages.at(-1);
        if (!HumanMessage.isInstance(message)) return;
        const text = textOf(message);
        const decision = await now(await taskOf(runtime), (task) => task.input(text));
        if (!decision.allowed) {
          return { messages: [withText(message, REFUSED), new AIMessage(forUser(decision))], jumpTo: "end" as const };
        }
        const becomes = decision.text ?? text;
        return becomes === text ? undefined : { messages: [withText(message, becomes)] };
      },
    },

    /** Comes to the calls of the turn that have no answer yet: asks for the reviews among them at once, and has the calls tried again. */
    beforeModel: {
      canJumpTo: ["tools"],
      hook: async (state, runtime) => {
        const calls = waiting(state.messages);
        if (calls.length === 0) return;
        const task = await taskOf(runtime);
        if (!(await ask(task, calls))) await stuck(task, calls);
        return { jumpTo: "tools" as const };
      },
    },

    /** Judges inside of the node that calls the model: what a later hook takes back has left the graph already. */
    wrapModelCall: async (request, handler) => {
      const task = await taskOf(request.runtime);
      const limits = await task.limits("model_turn");
      if (!limits.allowed) return new AIMessage(forUser(limits));
      const message = (await handler(options.streamed === "passed" ? request : { ...request, model: held(request.model) })) as AIMessage;
      const calls = (message.tool_calls ?? []).map(({ id, name, args }) => ({ id: idOf(id, name), function: name, arguments: args as JsonObject }));
      const usage = message.usage_metadata;
      const turn = await task.turn({ calls, promptTokens: usage?.input_tokens ?? 0, completionTokens: usage?.output_tokens ?? 0 });
      if (!turn.limits.allowed) return new AIMessage(forUser(turn.limits));
      if (calls.length > 0) return message;
      const text = textOf(message);
      const decision = await now(task, (task) => task.output(text));
      if (!decision.allowed) return new AIMessage(forUser(decision));
      return decision.text === undefined || decision.text === text ? message : withText(message, decision.text);
    },

    wrapToolCall: async (request, handler) => {
      const { toolCall } = request;
      const task = await taskOf(request.runtime);
      const call: Call = { id: idOf(toolCall.id, toolCall.name), name: toolCall.name, arguments: toolCall.args as JsonObject };
      if (!waiting(request.state.messages).includes(call.id)) return new Command({});
      const step = await next(task, call);
      let ran: unknown;
      const run = async (args: JsonObject): Promise<Json> => {
        ran = await handler({ ...request, toolCall: { ...toolCall, args: args as Record<string, unknown> } });
        return resultOf(ran);
      };
      const told = step.kind === "run" ? await carryOut(task, call, step.allowed, { run, ...fulfil }) : step;
      // a call that waits has no answer yet: `beforeModel` finds it by that
      if (told.kind !== "tell") return new Command({});
      const { value, isError } = told;
      // a tool may return a command in the place of a message
      if (ran !== undefined && !ToolMessage.isInstance(ran)) return isError ? message(call, value, true) : (ran as Command);
      return message(call, value, isError);
    },
  }) as AgentMiddleware;
}

/** A message that would have to wait is taken back: LangChain has no place for it, and the user says it again. */
async function now(task: AnyTask, step: (task: AnyTask) => Awaitable<Decision>): Promise<Decision> {
  const decision = await step(task);
  if (decision.pending && decision.call !== undefined) await task.withdraw(decision.call);
  return decision;
}

function forUser(decision: Decision): string {
  return decision.userMessage ?? why(decision);
}

/** A copy of the model, as whoever made it may stream it elsewhere. */
function held<M>(model: M): M {
  const { tags = [] } = model as { tags?: string[] };
  const copy = Object.create(Object.getPrototypeOf(model) as object) as M & { tags: string[] };
  return Object.assign(copy, model, { tags: [...tags, HELD] });
}

function idOf(id: string | undefined, name: string): string {
  if (id === undefined || id === "") throw new MisuseError("no_call_id", `the model gave its call of \`${name}\` no id`);
  return id;
}

/** What a tool returned, as JSON. An error that LangChain made a message of is one to the policies, too. */
function resultOf(ran: unknown): Json {
  if (!ToolMessage.isInstance(ran)) return asJson(null);
  if (ran.status === "error") throw new Error(textOf(ran));
  return asJson(ran.content);
}

function message({ id, name }: Call, value: Json, isError: boolean): ToolMessage {
  const content = typeof value === "string" ? value : JSON.stringify(value);
  return new ToolMessage({ content, name, tool_call_id: id, status: isError ? "error" : "success" });
}

function threadOf(runtime: unknown): string {
  const { configurable } = Object(runtime) as { configurable?: { thread_id?: unknown } };
  const thread = configurable?.thread_id;
  if (typeof thread !== "string" && typeof thread !== "number") {
    throw new MisuseError("no_thread", "the agent is invoked without `configurable.thread_id`, so its task is not known");
  }
  return String(thread);
}
