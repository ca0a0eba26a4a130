/** What goes wrong. No denial is among it, but for `Denied`, which is thrown where a wrapper runs the tool itself. */

import type { Decision } from "./decision.js";

/** What is wrong with a text that a person wrote. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  /** A stable word for programs, such as `unknown_key`. */
  readonly code: string;
  readonly message: string;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in characters. */
  readonly column: number;
  /** Behind the last character. */
  readonly end_line: number;
  readonly end_column: number;
  /** What stands under the characters where the line is shown; may be empty. */
  readonly label: string;
  /** The manifest path; empty outside manifests. */
  readonly path: string;
  /** The rule of the specification, such as `AG-10`. */
  readonly rule: string | null;
  /** The place in the documentation that says more about the rule. */
  readonly docs: string | null;
  readonly help: string | null;
  /** The reason of the author, if a comment allows it. */
  readonly allowed: string | null;
  /** Whether manifests with it are not loaded. */
  readonly refused: boolean;
  /** The whole for people: the line with carets, help and rule. */
  readonly shown: string;
}

export class CeladorError extends Error {
  /** A stable word for programs. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Manifests, policies or expressions that cannot be used. The message shows each place with a caret. */
export class LoadError extends CeladorError {
  readonly diagnostics: readonly Diagnostic[];

  constructor(code: string, message: string, diagnostics: readonly Diagnostic[] = []) {
    super(code, message);
    this.diagnostics = diagnostics;
  }
}

/** A request that cannot be: an unknown agent, an id that is taken, a call that is not open. Nothing has happened. */
export class MisuseError extends CeladorError {}

/** The store or the server did not answer. Whether anything has happened is open: the same request may be sent again. */
export class StoreError extends CeladorError {}

/** The engine is wrong, and nothing may run because of it. */
export class InternalError extends CeladorError {}

/** A call that was not let through, of `task.call` and `task.guard`. */
export class Denied extends CeladorError {
  readonly decision: Decision;

  constructor(decision: Decision) {
    super(decision.verdict, why(decision));
    this.decision = decision;
  }
}

/** What a person or a model is told of a decision that lets nothing through. */
export function why(decision: Decision): string {
  switch (decision.verdict) {
    case "suspend":
      return `it waits for ${decision.reviewer ?? "an answer"}`;
    case "wait":
      return `it waits for ${decision.waitsFor.join(", ")}`;
    case "respond":
      return "a reviewer has answered in its place";
    case "allow":
    case "route":
      return "it is allowed";
    default:
      return decision.message;
  }
}
