/**
 * Celador for the AI SDK.
 *
 * In: a task, a model, tools. Out: the model and the tools under the policies of the task, for `generateText`, `streamText` and agents.
 */

import type { LanguageModelV3 } from "@ai-sdk/provider";
import type { AnyTask } from "@celador/api";
import { type ToolSet, wrapLanguageModel } from "ai";
import { guardedModel } from "./model.js";
import type { GuardOptions } from "./options.js";
import { guardedTools } from "./tools.js";

export type { GuardOptions } from "./options.js";
export { toolsOf } from "./tools.js";

/** A model and tools, as `generateText` takes them. */
export interface Model<TOOLS extends ToolSet> {
  readonly model: LanguageModelV3;
  readonly tools: TOOLS;
}

/** The model and the tools under the policies of a task. Make it once for a task in a process. */
export function guard<TOOLS extends ToolSet>(task: AnyTask, { model, tools }: Model<TOOLS>, options: GuardOptions = {}): Model<TOOLS> {
  const guarded = { task, options };
  return {
    model: wrapLanguageModel({ model, middleware: guardedModel(guarded) }),
    tools: guardedTools(guarded, tools),
  };
}
