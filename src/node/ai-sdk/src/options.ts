/** Options of `guard`. */

import type { Allowed, AnyTask, Awaitable, Person } from "@celador/api";
import type { UnknownForms } from "@celador/api/adapter";

export interface GuardOptions {
  /**
   * Who answers approval requests of the AI SDK. Without it that is the user of the task, who is asked for the reviews that policies address to
   * them and for no others; with `runtime` the SDK asks for every review, and its answer is passed on as the word of this program, for
   * applications that show requests to the right people only.
   */
  readonly answers?: Person | "runtime";
  /** The system prompts of the program itself, word for word: they pass. All other messages of the role `system` are judged as inputs. */
  readonly instructions?: string | readonly string[];
  /** What streamed text does until the guardrails have seen all of it: it is held, or it passes and an error ends it. */
  readonly streamed?: "held" | "passed";
  /** Sees to the obligations and credentials of a call; without it calls that have some are refused. */
  readonly fulfil?: (allowed: Allowed) => Awaitable<void>;
  /** Passes forms that no rule can read on as they came and logs them as unjudged, for agents that observe. Without it they are errors. */
  readonly observe?: boolean;
}

/** A task and the choices about it. */
export interface Guarded {
  readonly task: AnyTask;
  readonly options: GuardOptions;
  readonly unknown: UnknownForms;
}
