/**
 * Celador for LangChain: a middleware for `createAgent`.
 *
 * In: an agent under policies. Out: a middleware that holds the tools, the limits and the texts of a LangChain agent to them. A thread of
 * LangGraph is a task, so what a thread has done counts, also after a restart. Reviews are interrupts in the form of LangChain's own
 * `humanInTheLoopMiddleware`: all that are open at once are one interrupt, and the calls beside them that need no review have run by then.
 * Let it be the last of several middlewares, so that none of them changes what it has judged.
 */

import { type Allowed, type AnyTask, type Awaitable, type Decision, type Json, type JsonObject, MisuseError } from "@celador/api";
import { type ToolCall as Call, UnknownForms, carryOut, next, notice, unknownForm, whoIsAsked, why, withNotes } from "@celador/api/adapter";
import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { z } from "zod";
import { History, again, readMessage } from "./history.js";
import { Ran, messageOf } from "./results.js";
import { ask, stuck, waiting } from "./reviews.js";

export { FORMS } from "./forms.js";
export { toolsOf } from "./tools.js";

export interface MiddlewareOptions {
  /** Tokens of the model are held until the whole text was judged; `passed` lets them out, for agents without rules about responses. */
  readonly streamed?: "held" | "passed";
  /** Sees to the obligations and credentials of a call; without it calls that have some are refused. */
  readonly fulfil?: (allowed: Allowed) => Awaitable<void>;
  /** Passes forms that no rule can read on as they came and logs them as unjudged, for agents that observe. Without it they are errors. */
  readonly observe?: boolean;
}

/** The task of a thread. */
export type TaskOfThread = (thread: string, runtime: unknown) => Awaitable<AnyTask>;

/** The tag by which LangGraph keeps what a model says out of its streams. */
const HELD = "nostream";

/** So many threads are at hand; what was judged of another one is found on the record of its task. */
const MOST_THREADS = 1024;

/** What the middleware keeps with a thread, for itself: messages that came while its calls waited for people. Nobody else writes it. */
const STATE = z.object({ _celadorKept: z.array(z.custom<BaseMessage>()).default(() => []) });

/** A middleware that holds an agent to policies: `celadorMiddleware((thread) => agent.task(thread, { user }))`, or with the one task. */
export function celadorMiddleware(tasks: AnyTask | TaskOfThread, options: MiddlewareOptions = {}): AgentMiddleware {
  const taskOf = async (runtime: unknown): Promise<AnyTask> =>
    typeof tasks === "function" ? await tasks(threadOf(runtime), runtime) : tasks;
  const fulfil = options.fulfil === undefined ? {} : { fulfil: options.fulfil };
  const histories = new Map<string, History>();
  const unknown = new UnknownForms(options.observe);

  /** What is known of a thread, the most recent ones last. */
  const historyOf = (task: AnyTask): History => {
    const history = histories.get(task.id) ?? new History(task, unknown);
    histories.delete(task.id);
    histories.set(task.id, history);
    const [oldest] = histories.keys();
    if (histories.size > MOST_THREADS) histories.delete(oldest!);
    return history;
  };

  return createMiddleware({
    name: "Celador",
    stateSchema: STATE,

    /** A message that comes while calls of the last turn have no answer is kept for later: their results stand right behind them. */
    beforeAgent: async (state) => {
      const { messages } = state;
      const turn = messages.findLastIndex((message) => AIMessage.isInstance(message));
      if (turn < 0 || waiting(messages.slice(0, turn + 1), messages).length === 0) return;
      const later = messages.slice(turn + 1).filter((message) => message.getType() !== "tool");
      if (later.length === 0) return;
      return {
        messages: later.map(({ id }) => new RemoveMessage({ id: id! })),
        _celadorKept: [...(state._celadorKept ?? []), ...later],
      };
    },

    /**
     * Comes to the calls of the turn that have no answer yet: asks for the reviews among them at once, and has the calls tried again. Where there are
     * none, every message that was not judged yet is, wherever it stands: whatever has put it there.
     */
    beforeModel: {
      canJumpTo: ["tools", "end"],
      hook: async (state, runtime) => {
        const task = await taskOf(runtime);
        const calls = waiting(state.messages);
        if (calls.length > 0) {
          if (!(await ask(task, calls))) await stuck(task, calls);
          return { jumpTo: "tools" as const };
        }
        const kept = state._celadorKept ?? [];
        const history = historyOf(task);
        const admitted = await history.admitted(state.messages, kept);
        if (admitted.isOver) await history.judge.told(admitted.messages.at(-1)!.text);
        if (admitted.messages.length === 0 && kept.length === 0) return;
        return { messages: [...admitted.messages], _celadorKept: [...admitted.kept], ...(admitted.isOver ? { jumpTo: "end" as const } : {}) };
      },
    },

    /** Judges inside of the node that calls the model: what a later hook takes back has left the graph already. */
    wrapModelCall: async (request, handler) => {
      const task = await taskOf(request.runtime);
      const history = historyOf(task);
      const instead = async (text: string) => {
        await history.judge.told(text);
        return new AIMessage(text);
      };
      const limits = await task.limits("model_turn");
      if (!limits.allowed) return await instead(await forUser(task, limits));
      const message: unknown = await handler(options.streamed === "passed" ? request : { ...request, model: held(request.model) });
      if (!AIMessage.isInstance(message)) throw unknownForm("the answer of a model", Object(message).constructor?.name);
      const readable = unknown.or(() => readMessage(message), undefined);
      const calls = (message.tool_calls ?? []).map(({ id, name, args }) => ({ id: idOf(id, name), function: name, arguments: args as JsonObject }));
      // under `observe` a message with a form that no rule can read goes on whole
      const saysNothing = readable === undefined || readable.every(({ text }) => text === "");
      // while a review is open nothing is said, so what stands beside calls comes ahead of them
      const said = calls.length > 0 && !saysNothing ? await history.judge.output(readable) : undefined;
      const usage = message.usage_metadata;
      // where that is refused the turn ends, and none of its calls is made
      const made = said === undefined || said.kind === "goes" ? calls : [];
      const turn = await task.turn({ calls: made, promptTokens: usage?.input_tokens ?? 0, completionTokens: usage?.output_tokens ?? 0 });
      for (const call of made) history.reported(call.id, call.arguments);
      if (!turn.limits.allowed) return await instead(await forUser(task, turn.limits));
      if (readable === undefined) return message;
      const judged = said ?? (saysNothing ? { kind: "goes" as const, parts: readable } : await history.judge.output(readable));
      if (judged.kind === "goes") return again(message, judged.parts, readable) as AIMessage;
      if (judged.kind === "waits") await task.withdraw(judged.id);
      return await instead(judged.text);
    },

    wrapToolCall: async (request, handler) => {
      const { toolCall } = request;
      const task = await taskOf(request.runtime);
      const call: Call = { id: idOf(toolCall.id, toolCall.name), name: toolCall.name, arguments: toolCall.args as JsonObject };
      if (!waiting(request.state.messages).includes(call.id)) return new Command({});
      const step = await next(task, call);
      let ran: Ran | undefined;
      let unread: Awaited<ReturnType<typeof handler>> | undefined;
      const run = async (args: JsonObject): Promise<Json> => {
        const result = await handler({ ...request, toolCall: { ...toolCall, args: args as Record<string, unknown> } });
        ran = unknown.or(() => new Ran(call, result), undefined);
        if (ran === undefined) unread = result;
        return ran?.output ?? null;
      };
      const told = step.kind === "run" ? await carryOut(task, call, step.allowed, { run, ...fulfil }) : step;
      // a call that waits has no answer yet: `beforeModel` finds it by that
      if (told.kind !== "tell") return new Command({});
      if (unread !== undefined && !told.isError) return unread;
      const { value, isError, notes } = told;
      const result = ran === undefined || isError ? messageOf(call, withNotes(told), isError) : ran.written(value, notes);
      historyOf(task).told(ran?.own(result) ?? (result as ReturnType<typeof messageOf>));
      return result;
    },
  }) as unknown as AgentMiddleware;
}

/** What the user is told of a decision that lets nothing through. */
async function forUser(task: AnyTask, decision: Decision): Promise<string> {
  if (decision.userMessage !== undefined) return decision.userMessage;
  return decision.pending ? notice("waits", await whoIsAsked(task)) : why(decision);
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

function threadOf(runtime: unknown): string {
  const { configurable } = Object(runtime) as { configurable?: { thread_id?: unknown } };
  const thread = configurable?.thread_id;
  if (typeof thread !== "string" && typeof thread !== "number") {
    throw new MisuseError("no_thread", "the agent is invoked without `configurable.thread_id`, so its task is not known");
  }
  return String(thread);
}
