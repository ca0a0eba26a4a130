/**
 * The calls of a task as the AI SDK has them: run once each, and kept in mind as they were told to the model.
 *
 * In: a call. Out: the output that the model may read, or that it is held. A held call keeps its place in the task: once people have answered it
 * runs, and its output takes the place of the text that said so, in whatever history the caller hands over.
 */

import { type Json, type JsonObject, MisuseError, type Suspended, type Waiting, isObject } from "@celador/api";
import { type Told, type ToolCall, canonical, carryOut, held, isHeldText, isMisuse, next, readExactly, withNotes } from "@celador/api/adapter";
import { type Tool, type ToolSet, asSchema } from "ai";
import type { Guarded } from "./options.js";
import { last, object, plain } from "./values.js";

/** What the model is told of a call: its output, or a text while it is held. */
export type Course = ({ readonly isHeld: false } & Pick<Told, "value" | "isError" | "notes">) | { readonly isHeld: true; readonly text: string };

/** An output as a prompt has it. */
export interface Output {
  readonly type: string;
  readonly value?: unknown;
  readonly reason?: string;
}

/** A call, with the value that the SDK has made of its arguments. */
export interface Called extends ToolCall {
  readonly input?: unknown;
}

type Options = Parameters<NonNullable<Tool["execute"]>>[1];

/** How a call is asked about: what there is to wait for. */
export interface Asking {
  /** Answers the review that the call waits for, if the SDK has an answer to it. */
  readonly review?: (pending: Suspended) => Promise<boolean>;
  /** Whether what it waits for comes by itself, while this process runs. */
  readonly comes?: (pending: Waiting) => Promise<boolean>;
}

export class Calls {
  readonly #guarded: Guarded;
  readonly #tools: ToolSet;
  readonly #over = new Map<string, Promise<Course>>();
  /** The arguments of calls that were reported by this process. */
  readonly #asked = new Map<string, string>();

  constructor(guarded: Guarded, tools: ToolSet) {
    this.#guarded = guarded;
    this.#tools = tools;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#tools, name);
  }

  /**
   * The arguments of a call of the model, as its tool will get them: the schema may give defaults and other types. Nothing of arguments that the
   * SDK itself refuses, or that readers may read differently.
   */
  async argumentsOf(name: string, input: string): Promise<JsonObject | undefined> {
    const args = readExactly(input === "" ? "{}" : input);
    if (!isObject(args)) return undefined;
    const tool = Object.hasOwn(this.#tools, name) ? this.#tools[name] : undefined;
    const valid = await asSchema(tool?.inputSchema).validate?.(args);
    if (valid === undefined) return args;
    return valid.success ? object(valid.value) : undefined;
  }

  /** The call was reported with these arguments. */
  reported(id: string, args: JsonObject): void {
    this.#asked.set(id, canonical(args));
  }

  /** Whether it is a call of the task; an error where the task knows it with other arguments or as another function. */
  async isKnown({ id, name, arguments: args }: ToolCall): Promise<boolean> {
    const reported = this.#asked.get(id);
    if (reported !== undefined) {
      if (reported !== canonical(args)) throw new MisuseError("call_exists", `the history has other arguments for the call \`${id}\` than it was made with`);
      return true;
    }
    const { task } = this.#guarded;
    try {
      await task.standing(id);
    } catch (error) {
      if (isMisuse(error, "unknown_call")) return false;
      throw error;
    }
    await task.before(name, args, { id });
    this.reported(id, args);
    return true;
  }

  /** Brings a call as far as it comes now. It runs once, however often it is asked for. */
  async run(call: Called, options: Options, asking: Asking = {}): Promise<Course> {
    const known = this.#over.get(call.id);
    if (known !== undefined) return await known;
    const course = this.#run(call, options, asking);
    this.#over.set(call.id, course);
    try {
      const came = await course;
      if (came.isHeld) this.#over.delete(call.id);
      return came;
    } catch (error) {
      this.#over.delete(call.id);
      throw error;
    }
  }

  async #run(call: Called, options: Options, { review, comes }: Asking): Promise<Course> {
    const { task, options: choices } = this.#guarded;
    const fulfil = choices.fulfil === undefined ? {} : { fulfil: choices.fulfil };
    for (;;) {
      const step = await next(task, call);
      if (step.kind === "run") {
        const told = await carryOut(task, call, step.allowed, { run: (args) => this.#carryOut(call, args, options), ...fulfil });
        return told.kind === "tell" ? { isHeld: false, ...told } : { isHeld: true, text: await held(task, told.pending) };
      }
      if (step.kind === "tell") return { isHeld: false, ...step };
      if (step.kind === "ask") {
        if (await review?.(step.pending)) continue;
        return { isHeld: true, text: await held(task, step.pending) };
      }
      if (comes === undefined || !(await comes(step.pending))) return { isHeld: true, text: await held(task, step.pending) };
      await task.decided(call.id, { unless: async (pending) => pending.verdict === "suspend" || !(await comes(pending)) });
    }
  }

  async #carryOut({ name, arguments: asked, input }: Called, args: JsonObject, options: Options): Promise<Json> {
    const tool = this.#tools[name] as Tool;
    // of arguments that are as they were the SDK has the value already
    const given = input !== undefined && canonical(args) === canonical(asked) ? (input as never) : await parsed(tool, args);
    return plain(await last(tool.execute!(given, options)));
  }

  /**
   * The output of a call as the model reads it, in the place of the one that a history has; nothing where the task knows only that it is over. A
   * call that was held and is not any more runs now. An error where the history has an output of a call that was let through and never reported.
   */
  async output(call: ToolCall, came: Output): Promise<Output | undefined> {
    const isHeld = isHeldText(came.value);
    if (!this.#over.has(call.id)) {
      if (!isHeld && (await this.#isOpen(call))) {
        throw new MisuseError("unreported_result", `the history has a result of the call \`${call.id}\`, which was not reported`);
      }
      if ((await this.#guarded.task.standing(call.id)).verdict === "rejected") return undefined;
    }
    const course = await this.run(call, { toolCallId: call.id, messages: [] } as unknown as Options);
    if (course.isHeld) return { type: "error-text", value: course.text };
    const { value, isError, notes } = course;
    if (isError) return { type: "error-text", value: typeof value === "string" ? value : JSON.stringify(value) };
    const { toModelOutput } = this.#tools[call.name] as { toModelOutput?: (of: object) => Output | PromiseLike<Output> };
    if (toModelOutput !== undefined) return noted(await toModelOutput({ toolCallId: call.id, input: call.arguments, output: value }), notes);
    if (notes.length > 0) return { type: "json", value: withNotes(course) };
    return typeof value === "string" ? { type: "text", value } : { type: "json", value };
  }

  async #isOpen({ id, name, arguments: args }: ToolCall): Promise<boolean> {
    const { allowed, pending } = await this.#guarded.task.before(name, args, { id });
    return allowed || pending;
  }
}

/** An output that the tool has made for the model, with the notes of reviewers behind it. */
function noted(output: Output, notes: readonly string[]): Output {
  if (notes.length === 0) return output;
  const texts = notes.map((text) => ({ type: "text", text }));
  if (output.type === "content") return { ...output, value: [...(output.value as readonly unknown[]), ...texts] };
  if (output.type === "text") return { ...output, value: [output.value, ...notes].join("\n") };
  return { type: "json", value: { result: output.value, notes } };
}

/** Arguments that policies have left, as the tool takes them. */
async function parsed(tool: Tool, args: JsonObject): Promise<never> {
  const valid = await asSchema(tool.inputSchema).validate?.(args);
  if (valid === undefined) return args as never;
  if (!valid.success) throw new Error("the arguments that policies have left do not fit the tool");
  return valid.value as never;
}
