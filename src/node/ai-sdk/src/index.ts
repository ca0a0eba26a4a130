/**
 * Celador for the AI SDK.
 *
 * In: a task, a model, tools. Out: the model and the tools under the policies of the task, for `generateText`, `streamText` and agents.
 */

import type { AnyTask } from "@celador/api";
import { UnknownForms } from "@celador/api/adapter";
import { type LanguageModel, type ToolSet, wrapLanguageModel } from "ai";
import { Calls } from "./calls.js";
import { guardedModel } from "./model.js";
import type { GuardOptions } from "./options.js";
import { guardedTools } from "./tools.js";

export { FORMS } from "./forms.js";
export type { GuardOptions } from "./options.js";
export { toolsOf } from "./tools.js";

/** A model and tools, as `generateText` takes them. */
export interface Model<TOOLS extends ToolSet> {
  /** A model as a provider makes it, of any version that the installed SDK takes. Its name alone is none. */
  readonly model: Exclude<LanguageModel, string>;
  readonly tools: TOOLS;
}

/** The model and the tools under the policies of a task. Make it once for a task in a process. */
export function guard<TOOLS extends ToolSet>(task: AnyTask, { model, tools }: Model<TOOLS>, options: GuardOptions = {}): Model<TOOLS> {
  const guarded = { task, options, unknown: new UnknownForms(options.observe) };
  const calls = new Calls(guarded, tools);
  return {
    model: wrapLanguageModel({ model: model as Parameters<typeof wrapLanguageModel>[0]["model"], middleware: guardedModel(guarded, calls) }),
    tools: guardedTools(guarded, calls, tools),
  };
}
