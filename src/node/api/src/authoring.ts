/**
 * What authors ask of policies, cases and recordings: how much is decided, what differs, what holds, why, and what would be decided
 * otherwise.
 *
 * In: manifests and policies, files or texts. Out: what the command of the same name answers as JSON, in one document. Each function has its
 * thread until it is done, which of `prove` may be as long as it is given: ask in a worker where others wait.
 */

import { type Source, list } from "./source.js";
import type { Verdict } from "./decision.js";
import type { Diagnostic } from "./errors.js";
import { type Hosting, hosting } from "./host.js";
import type { Json, JsonObject } from "./json.js";
import type { Desk } from "./port.js";
import type { components } from "./wire.js";

type Schemas = components["schemas"];

export type ExplainedStep = Schemas["ExplainedStep"];
export type ExplainedExpression = Schemas["ExplainedExpression"];
export type ExplainedPart = Schemas["ExplainedPart"];
/** What would have let a call pass: other arguments, or a function that has to be called first. Each was tried. */
export type Suggestion = Schemas["Suggestion"];
/** A decision as the API writes it, and what it came of. */
export type ExplainedDecision = Schemas["ExplainedDecision"];
/** Something that happened to a task. */
export type TaskEvent = Schemas["TaskEvent"];

/** One operation of a case or of a recorded task, and what it went through. */
export interface ExplainedOperation {
  /** From 1. */
  readonly number: number;
  /** Such as `before refund`. */
  readonly called: string;
  readonly decision: string | null;
  readonly message?: string;
  readonly decided_by?: Schemas["Origin"];
  /** Namespace and name. */
  readonly agent: string;
  readonly steps: readonly ExplainedStep[];
  /** Expressions that belong to no step. */
  readonly expressions?: readonly ExplainedExpression[];
}

export interface Explained {
  readonly operations: readonly ExplainedOperation[];
  /** What has kept a case or the recorded task from going on to its end. */
  readonly findings: readonly Diagnostic[];
}

/** A text under a name. */
export type Text = Exclude<Source, string>;

export interface Explaining {
  /** The files among which the subject and what it names are; without any they are on the disk. */
  readonly texts?: readonly Text[];
  /** The manifests of a recorded task; without any those beside it. */
  readonly manifests?: Source | readonly Source[];
  /** One case alone of a file of several. */
  readonly case?: string;
  /** One step alone: a number, or a name such as `before[0]`. */
  readonly step?: string | number;
}

/** A clause that is not decided: it may be true, be false or fail. */
export interface UnknownClause {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly expr: string;
}

/** How many clauses of asserts, conditions and filters are decided. */
export interface Analysis {
  readonly clauses: number;
  readonly decided: number;
  /** Faults of the analysis itself. */
  readonly contradicted: number;
  readonly unknown: readonly UnknownClause[];
}

/** What one side has decided. */
export interface Outcome {
  readonly verdict: Verdict;
  readonly value: Json;
  readonly message: string | null;
  /** The rule by which. */
  readonly by: string | null;
}

/** The tasks of a search, and how many of them reached the rule. */
export interface Evidence {
  readonly tried: number;
  readonly reached: number;
  /** The reasons for which the others did not, the most frequent first. */
  readonly rejected: readonly { readonly reason: string; readonly count: number }[];
}

/** A user as a case has it. */
export interface GeneratedUser {
  readonly id: string;
  readonly email?: string | null;
  readonly claims?: JsonObject;
}

/** A task on which two sides differ: user, counters, state and call as a case has them. */
export interface Witness {
  readonly direction: "stricter" | "looser" | "otherwise";
  readonly user: GeneratedUser;
  /** The tools that the task brings, as `tools/list` of MCP has them. */
  readonly tools: readonly JsonObject[];
  readonly counters: JsonObject | null;
  readonly state: readonly Json[];
  readonly call: JsonObject;
  readonly old: Outcome;
  readonly new: Outcome;
}

interface Compared {
  readonly agent: string;
  readonly operation:
    | "input"
    | "output"
    | "model"
    | "event"
    | "before"
    | "after"
    | "trigger"
    | "schedule"
    | "brought";
  readonly function: string | null;
  /** How the answer was found; `null` for an operation that is new or gone, or that no task was tried for. */
  readonly method: "identical" | "proof" | "search" | null;
  readonly evidence: Evidence;
}

/** An operation of an agent, and what is known of the difference. */
export type OperationDifference = Compared &
  (
    | {
        /** A witness was run through both sides. */
        readonly difference: "found";
        readonly witnesses: readonly [Witness, ...Witness[]];
      }
    | {
        /** `none` is proved. `unknown` is not: no task that was tried shows a difference. */
        readonly difference: "none" | "unknown" | "added" | "removed";
        readonly witnesses: readonly [];
      }
  );

export interface Differences {
  readonly operations: readonly OperationDifference[];
  /** How many are decided otherwise, or are new or gone. */
  readonly differ: number;
  readonly unknown: number;
}

/** How far a task is searched for that breaks an invariant. */
export interface Proving {
  /** The calls of the longest task. */
  readonly depth?: number;
  /** The calls that are tried, for each agent. */
  readonly operations?: number;
  /** The seconds that may be searched, for all agents together. */
  readonly seconds?: number;
}

/** A call of a task that breaks an invariant: what was asked of whom, and what came of it. */
export interface MadeCall {
  readonly fn: string;
  readonly args: JsonObject;
  readonly reviews: readonly { readonly reviewer: string; readonly approved: boolean }[];
  readonly verdict: Verdict;
  readonly ran_with: Json;
  readonly result: Json;
  readonly result_verdict: Verdict | null;
  /** Whether the result came behind all calls. */
  readonly late: boolean;
}

/** What is known of an invariant, as far as one agent is concerned. */
export type Proof = {
  readonly invariant: string;
  readonly text: string | null;
  readonly agent: string;
  readonly method: "proof" | "search";
  /** Calls, or tasks for an invariant without `call`. */
  readonly evidence: Evidence;
} & (
  | {
      readonly answer: "holds";
      /** The rules and limits that it rests on, functions of which no call is ever let by, and whether sums of doubles were taken not to be rounded. */
      readonly grounds: {
        readonly rules: readonly Schemas["Origin"][];
        readonly limits: readonly string[];
        readonly never_called: readonly string[];
        readonly unrounded: boolean;
      };
    }
  | {
      readonly answer: "broken";
      readonly task: {
        readonly user: GeneratedUser;
        readonly tools?: readonly JsonObject[];
        /** The first input, where it is not a plain message. */
        readonly input?: JsonObject;
        readonly counters?: JsonObject;
        readonly calls: readonly MadeCall[];
      };
      /** The task as the text of a case. */
      readonly case: string;
    }
  | {
      readonly answer: "unknown";
      /** The bounds within which nothing was found. */
      readonly reached: { readonly depth: number; readonly operations: number };
    }
);

export interface Proofs {
  readonly proofs: readonly Proof[];
  readonly hold: number;
  readonly broken: number;
  readonly unknown: number;
}

/** A small change of a policy. */
export type Mutant = {
  readonly path: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The kind of change, as a word for programs. */
  readonly kind: string;
  readonly change: string;
} & (
  | {
      /** The case that has noticed it. */
      readonly noticed_by: string;
    }
  | {
      readonly noticed_by: null;
      /** The text of a case that would notice it, if one was found. */
      readonly case?: string;
    }
);

export interface Mutation {
  readonly noticed: number;
  readonly mutants: readonly Mutant[];
}

/** One kind of difference: how often, and where first. */
export interface Flip {
  readonly operation: string;
  readonly function?: string;
  readonly was: Verdict;
  readonly was_by?: string;
  readonly is: Verdict;
  readonly is_by?: string;
  /** Both let it go on, with other values. */
  readonly other_value?: boolean;
  readonly count: number;
  readonly task: string;
  readonly step: number;
}

/** What came of judging recorded steps anew. */
export interface Replayed {
  readonly decisions: number;
  readonly tasks: number;
  readonly flips: number;
  /** What was not judged, by reason. */
  readonly not_judged: { readonly [reason: string]: number };
  readonly rows: readonly Flip[];
  /** Differences that have no row. */
  readonly left_out: number;
}

/** A recording was decided with a key and functions: those that are given here should answer as they did. */
export interface Replaying extends Hosting {
  /** The policies to judge under. */
  readonly policies: Source | readonly Source[];
  /** The policies to compare with, in the place of what was recorded. */
  readonly against?: Source | readonly Source[];
}

/** What a package offers to authors. Errors of policies are `LoadError`, with carets. */
export interface Authoring {
  /** How many clauses of manifests and policies are decided, and which are not; what is accused, `check` tells. */
  analysis(sources: Source | readonly Source[]): Analysis;
  /** For each operation of each agent whether two sets of policies decide anything otherwise, with a task that shows it where one was found. */
  diff(old: Source | readonly Source[], to: Source | readonly Source[]): Differences;
  /** Whether each invariant holds, with the rules that it rests on, is broken, by a task, or is not known. */
  prove(policies: Source | readonly Source[], invariants: Source, bounds?: Proving): Proofs;
  /** Why the operations of cases or of a recorded task were decided as they were. */
  explain(subject: string, how?: Explaining): Explained;
  /** A text of manifests, policies, cases or a recorded task in one layout. One that cannot be read is what it was. */
  fmt(text: string): string;
  /** Judges recorded tasks anew: files of steps, one a line, as `celador replay` reads them. */
  replay(recorded: string | readonly string[], how: Replaying): Replayed;
  /** The same of lines that a program has, such as a part of a recording. All lines of a task belong into one part. */
  replayLines(lines: Iterable<string>, how: Replaying): Replayed;
  /** What came of a whole recording, out of what came of its parts. */
  addReplays(tallies: Iterable<Replayed>): Replayed;
}

/** How many lines go over at once. */
const LINES = 1_000;

export function authoring(desk: Desk): Authoring {
  const judging = ({ policies, against }: Replaying) => ({
    policies: list(policies),
    against: against === undefined ? [] : list(against),
  });
  return {
    analysis: (sources) => desk.now("analysis", 0, { sources: list(sources) }),
    diff: (old, to) => desk.now("diff", 0, { old: list(old), new: list(to) }),
    prove: (policies, invariants, bounds = {}) => desk.now("prove", 0, { policies: list(policies), invariants, ...bounds }),
    explain(subject, { texts = [], manifests = [], case: name, step } = {}) {
      const one = { ...(name === undefined ? {} : { case: name }), ...(step === undefined ? {} : { step: String(step) }) };
      return desk.now("explain_file", 0, { subject, texts, manifests: list(manifests), ...one });
    },
    fmt: (text) => desk.now<{ text: string }>("fmt", 0, { text }).text,
    replay(recorded, how) {
      const body = { recorded: typeof recorded === "string" ? [recorded] : recorded, ...judging(how) };
      return hosting(desk, how, (host) => desk.now<Replayed>("replay", 0, { ...body, host })) as Replayed;
    },
    replayLines(lines, how) {
      const begin = (host: object) => desk.now<{ handle: number }>("replay_begin", 0, { ...judging(how), host });
      const { handle } = hosting(desk, how, begin) as { handle: number };
      try {
        let part: string[] = [];
        for (const line of lines) {
          if (part.push(line) < LINES) continue;
          desk.now("replay_lines", handle, { lines: part });
          part = [];
        }
        desk.now("replay_lines", handle, { lines: part });
        return desk.now("replay_end", handle, {});
      } finally {
        desk.forget(handle);
      }
    },
    addReplays: (tallies) => desk.now("add_replays", 0, { tallies: [...tallies] }),
  };
}
