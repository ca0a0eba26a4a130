/** What a package offers, over its way to the engine. */

import { type AgentOf, type Elsewhere, type LaterAgent, type LaterPolicies, type Loaded, type Policies, PoliciesHere, type Tool, agentHere, plain } from "./agent.js";
import type { Agent } from "./agent.js";
import { type Authoring, type ExplainedOperation, type Mutation, type Text, authoring } from "./authoring.js";
import type { Diagnostic } from "./errors.js";
import { type Hosting, hosting } from "./host.js";
import type { Json, JsonObject } from "./json.js";
import { type Awaitable, Desk, type Place, type Port, then } from "./port.js";
import { type Source, list } from "./source.js";
import { type Begun, type Task, TaskHere } from "./task.js";

/** What a case came to. */
export interface CaseResult {
  readonly name: string;
  readonly about: string;
  readonly file: string;
  readonly passed: boolean;
  /** `broken` where it cannot be read or run, or its manifests were not loaded completely. */
  readonly outcome: "passed" | "failed" | "broken";
  /** What was expected and what came. */
  readonly failure?: string;
  /** What its operations went through, step by step: of a case that has failed, and of every case with `explain`. */
  readonly explained?: readonly ExplainedOperation[];
}

/** So many of so many. */
export interface Share {
  readonly seen: number;
  readonly all: number;
}

/** Which steps and clauses of their policies cases have tried. */
export interface Coverage {
  readonly shares: Readonly<Record<string, Share>>;
  /** By file. */
  readonly files: Readonly<Record<string, { readonly steps: readonly JsonObject[]; readonly clauses: readonly JsonObject[] }>>;
  readonly limits: readonly JsonObject[];
  readonly events: readonly JsonObject[];
}

/** What is asked of cases beside whether they pass. */
export interface Testing {
  /** Which of the texts are cases. */
  readonly below?: readonly string[];
  readonly coverage?: boolean;
  readonly explain?: boolean;
  /** Changes the policies a little, in many ways: as many runs as there are changes. */
  readonly mutate?: boolean;
}

/** A case on whose task an expression is evaluated, at its time. */
export interface OnCase {
  readonly case: string;
  /** The files among which the case and its manifests are; without any they are on the disk. */
  readonly texts?: readonly Text[];
  /** Of a case with steps, the state ahead of this one, from 1. */
  readonly step?: number;
}

export interface TestReport {
  readonly results: readonly CaseResult[];
  readonly passed: number;
  readonly failed: number;
  /** Cases that cannot be read or run, and files and folders in which cases may be lost. */
  readonly broken: number;
  /** Documents of folders that no command reads. */
  readonly warnings: readonly Diagnostic[];
  /** If it was asked for. */
  readonly coverage?: Coverage;
  /** Which small changes of the policies the cases notice, and cases that would notice the others, if it was asked for. */
  readonly mutation?: Mutation;
}

/** With `observe` nothing is stopped: each operation goes on, and its decision says in `enforced` what would have come of it. */
export interface Observing extends Hosting {
  readonly observe?: boolean;
}

export interface Celador extends Authoring {
  /** Loads manifests and policies. Throws `LoadError` for an error, and for a warning that may lose a rule. */
  load(sources: Source | readonly Source[], options?: Observing & { readonly store?: undefined; readonly server?: undefined }): Policies;
  /** The same with tasks that are kept elsewhere. A server has manifests of its own: give it no sources. */
  load(sources: Source | readonly Source[], options: Observing & Elsewhere): Promise<LaterPolicies>;
  /** An agent with these tools and no manifest of its own: what its calls may do, the policies say. */
  agentFor(
    tools: readonly Tool[],
    policies: Source | readonly Source[],
    options?: Observing & { readonly name?: string; readonly store?: undefined; readonly server?: undefined },
  ): Agent;
  agentFor(
    tools: readonly Tool[],
    policies: Source | readonly Source[],
    options: Observing & Elsewhere & { readonly name?: string },
  ): Promise<LaterAgent>;
  /** Every problem of manifests and policies. None is an exception; a path that cannot be read is `LoadError`. */
  check(sources: Source | readonly Source[]): readonly Diagnostic[];
  /** Runs case files. Texts have the names under which cases name their manifests; `below` says which of them are cases. */
  test(sources: Source | readonly Source[], options?: Testing): TestReport;
  /** Evaluates an expression of the language with these variables. */
  evaluate(expression: string, variables?: JsonObject): Json;
  /** Evaluates an expression on what the steps of a case's operation see. */
  evaluate(expression: string, variables: undefined, on: OnCase): Json;
  /** Goes on with a task in memory that `Task.save` has written, in this process or another. */
  restore(policies: Policies, saved: string): Task;
}

/** The functions of a package, over a port. */
export function celador(port: Port): Celador {
  const desk = new Desk(port);
  const functions = {
    ...authoring(desk),
    load(sources: Source | readonly Source[], options: Observing & Partial<Elsewhere> = {}): Awaitable<PoliciesHere> {
      const { observe = false, hashKey, functions, ...where } = options;
      const later = where.store !== undefined || where.server !== undefined;
      const loaded = hosting(desk, { hashKey, functions }, (host) =>
        desk.ask<Loaded>("load", 0, { sources: list(sources), observe, host, where }, later),
      );
      return then(loaded, (loaded) => new PoliciesHere(desk, loaded));
    },
    agentFor(
      tools: readonly Tool[],
      policies: Source | readonly Source[],
      options: Observing & Partial<Elsewhere> & { name?: string } = {},
    ): Awaitable<AgentOf<boolean>> {
      const { name, observe = false, hashKey, functions, ...where } = options;
      const body = {
        tools: tools.map(plain),
        policies: list(policies),
        ...(name === undefined ? {} : { name }),
        observe,
        where,
      };
      const later = where.store !== undefined || where.server !== undefined;
      const found = hosting(desk, { hashKey, functions }, (host) =>
        desk.ask<{ handle: number; name: string; place: Place }>("agent_for", 0, { ...body, host }, later),
      );
      return then(found, (found) => agentHere(desk, found));
    },
    check(sources: Source | readonly Source[]): readonly Diagnostic[] {
      return desk.now<{ diagnostics: Diagnostic[] }>("check", 0, { sources: list(sources) }).diagnostics;
    },
    test(sources: Source | readonly Source[], { below = [], ...wishes }: Testing = {}): TestReport {
      const body = { sources: list(sources), below, ...wishes };
      const { results, warnings, coverage: tried, mutation } = desk.now<{
        results: (Omit<CaseResult, "passed" | "failure"> & { failure: string | null })[];
        warnings: Diagnostic[];
        coverage: Coverage | null;
        mutation: Mutation | null;
      }>("test", 0, body);
      const told = results.map(({ failure, ...result }) =>
        failure === null ? { ...result, passed: true } : { ...result, passed: false, failure },
      );
      const count = (outcome: CaseResult["outcome"]) => told.filter((result) => result.outcome === outcome).length;
      const counts = { passed: count("passed"), failed: count("failed"), broken: count("broken") };
      const report = { results: told, ...counts, warnings };
      return { ...report, ...(tried === null ? {} : { coverage: tried }), ...(mutation === null ? {} : { mutation }) };
    },
    evaluate(expression: string, variables: JsonObject = {}, on: Partial<OnCase> = {}): Json {
      return desk.now<{ value: Json }>("evaluate_alone", 0, { expression, variables, ...on }).value;
    },
    restore(policies: Policies, saved: string): Task {
      const { handle } = policies as unknown as PoliciesHere;
      return new TaskHere(desk, desk.now<Begun>("restore", handle, { saved })) as unknown as Task;
    },
  };
  return functions as unknown as Celador;
}
