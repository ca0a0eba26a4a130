/**
 * A running task: what is about to happen in, a decision out.
 *
 * One class for all places: in memory each operation is computed at once and returns a value, in a store or on a server it returns a
 * promise of the same value. Which one it is stands in the type: `Task` or `LaterTask`.
 */

import type { ExplainedDecision, TaskEvent } from "./authoring.js";
import { type Decision, type Results, type Suspended, type Turn, type Waiting, type WrittenDecision, ofWritten } from "./decision.js";
import { Denied, type Diagnostic, MisuseError } from "./errors.js";
import { type Json, type JsonObject, isObject } from "./json.js";
import { type Awaitable, type Desk, type Place, then } from "./port.js";
import { type Maybe, type ReviewOf, type ReviewState, type WrittenReview, reviewOf } from "./review.js";
import type { components } from "./wire.js";

type Schemas = components["schemas"];

export type TaskState = "active" | "suspended" | "locked" | "terminated";
export type Status = Schemas["CallStatus"];
export type Scope = Schemas["Check"]["scope"];
export type Offer = Schemas["Offer"];

/** A call that the model wants to make. */
export interface CallRequest {
  readonly id?: string;
  readonly function: string;
  readonly arguments?: JsonObject;
}

/** What the model used, and all calls that it asks for. */
export interface TurnReport {
  readonly calls?: readonly CallRequest[];
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  /** In a unit of yours: a number, or a decimal as text, which is exact. */
  readonly cost?: number | string;
}

/** What a call of the model is expected to use. */
export type Estimate = Pick<TurnReport, "promptTokens" | "completionTokens" | "cost">;

/** What a call came to. */
export interface CallReport {
  readonly call: string;
  readonly output?: Json;
  readonly status?: Status;
}

/** How long an answer may wait for a review or for other calls. In memory nothing waits. */
export interface Wait {
  readonly waitMs?: number;
}

/** How long somebody waits for a decision. */
export interface Patience {
  /** Asked whenever the task has changed: whether to give up. What is pending then is returned as it is. */
  readonly unless?: (pending: Waiting | Suspended) => Awaitable<boolean>;
}

export interface Trial {
  readonly scope?: Scope;
  readonly function?: string;
  readonly input?: Json;
  readonly output?: Json;
}

/** The operations of a task. `Later` says whether they return promises. */
export interface TaskOf<Later extends boolean> {
  readonly id: string;
  /** Namespace and name of its agent. */
  readonly agent: string;
  readonly place: Place;
  /** The tools that were brought and cannot be called, with the reasons. */
  readonly leftOut: { readonly [tool: string]: string };
  state(): Maybe<Later, TaskState>;

  /** Hands over what the user said, with the parameters of the agent. */
  input(message: Json, data?: JsonObject, how?: Wait): Maybe<Later, Decision>;
  /** Asks whether a step may be taken, without taking it. */
  limits(next?: "model_turn" | "capability" | "other"): Maybe<Later, Decision>;
  /** Reports a turn of the model, and decides each of its calls. */
  turn(report: TurnReport, how?: Wait): Maybe<Later, Turn>;
  /** Asks whether a call may run. Where it is allowed, run it with `arguments` of the decision and report the result with `after`. */
  before(name: string, args?: JsonObject, how?: Wait & { readonly id?: string }): Maybe<Later, Decision>;
  /** Reports what a call came to; `value` of the decision is what the model receives. */
  after(call: string, output?: Json, how?: { readonly status?: Status }): Maybe<Later, Decision>;
  /** Reports the results of several calls, in the order in which they came. */
  results(reports: readonly CallReport[], how?: Wait): Maybe<Later, Results>;
  /**
   * Claims a call that was let through, for one of several processes: exactly one claimant is allowed, with the `arguments` to run it with. `claimant`
   * is a random text, made anew for each attempt to run a call. For any other one it throws `MisuseError` (`call_claimed`).
   */
  claim(call: string, claimant: string): Maybe<Later, Decision>;
  /** Gives a claim back, of a call that was not run: another process may claim it. */
  release(call: string, claimant: string): Maybe<Later, Decision>;
  /** Takes a call back that will never be reported: it has not run, or nobody knows. */
  withdraw(call: string, ran?: false | "unknown"): Maybe<Later, Decision>;
  /** How far a call has come, or an input or response that waits. */
  standing(call: string, how?: Wait): Maybe<Later, Decision>;
  /** Answers what an operation asks: `{ review: true }`, `{ result: { status, output } }`, `{ text }`, … */
  resume(answer: Json, how?: Wait & { readonly question?: number }): Maybe<Later, Decision>;
  /** Hands over the response of the model, before the user sees it. */
  output(message: Json, how?: Wait): Maybe<Later, Decision>;
  /** Asks whether something may be sent to the model; `value` is what is sent then. Counters of the model reserve the estimate until the answer comes. */
  modelBefore(request: JsonObject, how?: { readonly id?: string; readonly estimate?: Estimate }): Maybe<Later, Decision>;
  /** Hands over what came back from the model. */
  modelAfter(call: string, answer: JsonObject): Maybe<Later, Decision>;
  /** A whole call, which the task has carried out: by its own expression, or by asking for it. */
  invoke(name: string, args?: JsonObject, how?: Wait & { readonly id?: string }): Maybe<Later, Decision>;
  /** Has a call carried out that was let through. */
  execute(call: string): Maybe<Later, Decision>;
  /** Runs a script of calls that the model wrote. */
  script(source: string): Maybe<Later, Decision>;
  interrupt(): Maybe<Later, Decision>;
  /** Ends the task: it takes no step any more. */
  end(reason: string): Maybe<Later, Decision>;
  /** Removes the task and all that is known of it. */
  purge(reason?: string): Maybe<Later, void>;

  /** The decision of a call that is pending, once it has one: people have answered, other calls were reported. */
  decided(call: string, how?: Patience): Promise<Decision>;
  /** Runs a tool with a decision around it. What is returned is what the model may see; a call that is not let through throws `Denied`. */
  call<T extends Json>(
    name: string,
    args: JsonObject,
    run: (args: never) => Awaitable<T>,
    how?: { readonly id?: string },
  ): Promise<Json>;
  /** The same tool with a decision around each call of it. */
  guard<A extends JsonObject>(name: string, run: (args: A) => Awaitable<Json>): (args: A) => Promise<Json>;

  reviews(how?: { readonly state?: ReviewState | "all" }): Maybe<Later, readonly ReviewOf<Later>[]>;
  /** The functions as the model is to know them. */
  offers(): Maybe<Later, readonly Offer[]>;
  /** What expressions see of the task; some parts of it, or all. */
  context(...paths: string[]): Maybe<Later, JsonObject>;
  /** Evaluates an expression on the task, without a trace in it. */
  evaluate(expression: string, how?: Trial): Maybe<Later, Json>;
  /** What is wrong with an expression in a scope. */
  check(expression: string, how?: Pick<Trial, "scope" | "function">): Maybe<Later, readonly Diagnostic[]>;
  /**
   * Why a decision of the task was made as it was (of the event of this `version`), or what a call would come to now: every step, each
   * expression as a tree with values, and of what stopped it the nearest that would have passed. Nothing of the task changes. A task in
   * memory keeps no events: of one it throws `MisuseError` (`no_events`).
   */
  explain(what: { readonly version: number } | { readonly function: string; readonly arguments?: JsonObject }): Maybe<Later, ExplainedDecision>;
  /** What has happened to the task, in order. Of one in memory it throws `MisuseError` (`no_events`). */
  events(): Maybe<Later, readonly TaskEvent[]>;
  /** The whole task as a text, for `restore`. Of a task in memory alone: stores and servers keep theirs. */
  save(): string;
}

/** A task in the memory of this process: each decision is there at once. */
export type Task = TaskOf<false>;
/** A task in a store or on a server: each decision is a promise. */
export type LaterTask = TaskOf<true>;
/** Either: `await` what it returns. */
export type AnyTask = Task | LaterTask;

/** A task as the engine tells of it when it was begun. */
export interface Begun {
  readonly handle: number;
  readonly id: string;
  readonly agent: string;
  readonly place: Place;
  readonly left_out?: { readonly [tool: string]: string };
}

interface Several {
  limits?: WrittenDecision;
  calls: WrittenDecision[];
  decided: WrittenDecision[];
}

/** The decision on a turn of which the engine says nothing: it is refused. */
const NO_LIMITS: WrittenDecision = { verdict: "rejected", message: "rejected", trace: [], findings: [], cost: 0 };

/** The longest that a server is asked to wait at once, in milliseconds. */
const LONGEST_WAIT = 20_000;
/** How often a task is looked at while nobody does anything: reviews and calls that wait expire. */
const LOOK_AGAIN = 1_000;

export class TaskHere implements TaskOf<boolean> {
  readonly id: string;
  readonly agent: string;
  readonly place: Place;
  readonly leftOut: { readonly [tool: string]: string };
  readonly #desk: Desk;
  readonly #handle: number;
  readonly #later: boolean;

  constructor(desk: Desk, begun: Begun) {
    this.id = begun.id;
    this.agent = begun.agent;
    this.place = begun.place;
    this.leftOut = begun.left_out ?? {};
    this.#desk = desk;
    this.#handle = begun.handle;
    this.#later = begun.place !== "memory";
    desk.keep(this, begun.handle);
  }

  state(): Awaitable<TaskState> {
    return then(this.#ask<{ state: TaskState }>("state", {}), ({ state }) => state);
  }

  input(message: Json, data: JsonObject = {}, how?: Wait): Awaitable<Decision> {
    return this.#step("input", { ...data, message }, how);
  }

  limits(next: "model_turn" | "capability" | "other" = "model_turn"): Awaitable<Decision> {
    return this.#step("limits", { next });
  }

  turn(report: TurnReport, how?: Wait): Awaitable<Turn> {
    const { calls = [], promptTokens = 0, completionTokens = 0, cost } = report;
    const usage = { prompt_tokens: promptTokens, completion_tokens: completionTokens, ...(cost === undefined ? {} : { cost }) };
    return then(this.#several("turn", { usage, calls: calls.map(asked) }, how), ({ limits, calls, decided }) => ({
      // a turn that says nothing of its limits is none
      limits: ofWritten(limits ?? NO_LIMITS),
      calls,
      decided,
    }));
  }

  before(name: string, args: JsonObject = {}, how: Wait & { id?: string } = {}): Awaitable<Decision> {
    return this.#step("before", asked({ id: how.id, function: name, arguments: args }), how);
  }

  after(call: string, output: Json = null, { status = "successful" }: { status?: Status } = {}): Awaitable<Decision> {
    return this.#step("after", { call, result: { status, output } });
  }

  results(reports: readonly CallReport[], how?: Wait): Awaitable<Results> {
    const results = reports.map(({ call, output = null, status = "successful" }) => ({ call, result: { status, output } }));
    return then(this.#several("results", { results }, how), ({ calls, decided }) => ({ calls, decided }));
  }

  claim(call: string, claimant: string): Awaitable<Decision> {
    return this.#step("claim", { call, claimant });
  }

  release(call: string, claimant: string): Awaitable<Decision> {
    return this.#step("release", { call, claimant });
  }

  withdraw(call: string, ran: false | "unknown" = false): Awaitable<Decision> {
    return this.#step("withdraw", { call, ran });
  }

  standing(call: string, how?: Wait): Awaitable<Decision> {
    return this.#look("standing", { call }, how);
  }

  resume(answer: Json, how: Wait & { question?: number } = {}): Awaitable<Decision> {
    return this.#step("resume", { answer, ...(how.question === undefined ? {} : { question: how.question }) }, how);
  }

  output(message: Json, how?: Wait): Awaitable<Decision> {
    return this.#step("output", { message }, how);
  }

  modelBefore(request: JsonObject, { id, estimate }: { id?: string; estimate?: Estimate } = {}): Awaitable<Decision> {
    const expected = estimate && {
      prompt_tokens: estimate.promptTokens ?? 0,
      completion_tokens: estimate.completionTokens ?? 0,
      ...(estimate.cost === undefined ? {} : { cost: estimate.cost }),
    };
    return this.#step("model_before", { ...(id === undefined ? {} : { id }), request, ...(expected && { estimate: expected }) });
  }

  modelAfter(call: string, answer: JsonObject): Awaitable<Decision> {
    return this.#step("model_after", { call, answer });
  }

  invoke(name: string, args: JsonObject = {}, how: Wait & { id?: string } = {}): Awaitable<Decision> {
    return this.#step("invoke", asked({ id: how.id, function: name, arguments: args }), how);
  }

  execute(call: string): Awaitable<Decision> {
    return this.#step("execute", { call });
  }

  script(source: string): Awaitable<Decision> {
    return this.#step("script", { source });
  }

  interrupt(): Awaitable<Decision> {
    return this.#step("interrupt", {});
  }

  end(reason: string): Awaitable<Decision> {
    return this.#step("end", { reason });
  }

  purge(reason?: string): Awaitable<void> {
    return then(this.#ask("purge", reason === undefined ? {} : { reason }), () => this.#desk.changed());
  }

  async decided(call: string, { unless }: Patience = {}): Promise<Decision> {
    const waitMs = unless === undefined ? LONGEST_WAIT : LOOK_AGAIN;
    for (let known = false; ; known = true) {
      // before it waits the first time, it is asked whether to
      const decision = await this.standing(call, unless === undefined || known ? { waitMs } : {});
      if (!decision.pending || (await unless?.(decision))) return decision;
      if (!this.#later) await this.#desk.change(LOOK_AGAIN);
    }
  }

  async call(name: string, args: JsonObject, run: (args: never) => Awaitable<Json>, how: { id?: string } = {}): Promise<Json> {
    const decision = await this.before(name, args, how);
    if (decision.verdict === "respond") return decision.value;
    if (!decision.allowed || decision.call === undefined) throw new Denied(decision);
    if (how.id !== undefined) {
      // others may know the id as well: one of them runs the call
      const claimed = await this.claim(how.id, claimantId());
      if (!claimed.allowed) throw new Denied(claimed);
    }
    let output: Json;
    try {
      output = await run(decision.arguments as never);
    } catch (error) {
      await this.after(decision.call, messageOf(error), { status: "errored" });
      throw error;
    }
    const reported = await this.after(decision.call, output ?? null);
    if (!reported.allowed) throw new Denied(reported);
    return reported.value;
  }

  guard<A extends JsonObject>(name: string, run: (args: A) => Awaitable<Json>): (args: A) => Promise<Json> {
    return (args) => this.call(name, args, run as (args: never) => Awaitable<Json>);
  }

  reviews({ state = "open" }: { state?: ReviewState | "all" } = {}): Awaitable<readonly ReviewOf<boolean>[]> {
    const answer = (review: string, answer: JsonObject) =>
      this.#changing(this.#ask<WrittenReview>("answer_review", { review, ...answer }));
    const found = this.#ask<{ reviews: WrittenReview[] }>("reviews", state === "all" ? {} : { state });
    return then(found, ({ reviews }) => reviews.map((review) => reviewOf(review, answer)));
  }

  offers(): Awaitable<readonly Offer[]> {
    return then(this.#ask<{ functions: Offer[] }>("offers", {}), ({ functions }) => functions);
  }

  context(...paths: string[]): Awaitable<JsonObject> {
    return then(this.#ask<{ context: JsonObject }>("context", { paths }), ({ context }) => context);
  }

  evaluate(expression: string, { scope = "before", ...how }: Trial = {}): Awaitable<Json> {
    return then(this.#ask<{ value: Json }>("evaluate", { expression, scope, ...how }), ({ value }) => value);
  }

  check(expression: string, { scope = "before", ...how }: Pick<Trial, "scope" | "function"> = {}): Awaitable<readonly Diagnostic[]> {
    return then(this.#ask<{ diagnostics: Diagnostic[] }>("check_expression", { expression, scope, ...how }), ({ diagnostics }) => diagnostics);
  }

  explain(what: { version: number } | { function: string; arguments?: JsonObject }): Awaitable<ExplainedDecision> {
    return this.#ask<ExplainedDecision>("explain", what);
  }

  events(): Awaitable<readonly TaskEvent[]> {
    return then(this.#ask<{ events: TaskEvent[] }>("events", {}), ({ events }) => events);
  }

  save(): string {
    if (this.#later) throw new MisuseError("kept_elsewhere", `a task in a ${this.place} is kept there`);
    return this.#desk.now<{ saved: string }>("save", this.#handle, {}).saved;
  }

  #ask<T>(what: string, body: object): Awaitable<T> {
    return this.#desk.ask<T>(what, this.#handle, body, this.#later);
  }

  #look(what: string, body: object, how?: Wait): Awaitable<Decision> {
    const whole = how?.waitMs === undefined || !this.#later ? body : { ...body, wait_ms: how.waitMs };
    return then(this.#ask<WrittenDecision>(what, whole), ofWritten);
  }

  #step(what: string, body: object, how?: Wait): Awaitable<Decision> {
    return this.#changing(this.#look("step", this.#named(what, body), how));
  }

  #several(what: string, body: object, how?: Wait): Awaitable<Required<Results> & { limits?: WrittenDecision }> {
    const named = this.#named(what, body);
    const whole = how?.waitMs === undefined || !this.#later ? named : { ...named, wait_ms: how.waitMs };
    const answer = then(this.#ask<Several>("step", whole), ({ limits, calls, decided }) => ({
      limits,
      calls: calls.map(ofWritten),
      decided: decided.map(ofWritten),
    }));
    return this.#changing(answer);
  }

  #named(what: string, body: object): object {
    return { step: { [what]: body } };
  }

  #changing<T>(answer: Awaitable<T>): Awaitable<T> {
    if (!(answer instanceof Promise)) {
      this.#desk.changed();
      return answer;
    }
    return answer.finally(() => this.#desk.changed());
  }
}

function asked({ id, function: name, arguments: args = {} }: CallRequest): object {
  if (!isObject(args)) throw new MisuseError("bad_request", `the arguments of \`${name}\` are no object`);
  return id === undefined ? { function: name, arguments: args } : { id, function: name, arguments: args };
}

/** The random text of one attempt to run a call. */
export function claimantId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

