/** Policies that were loaded, and the agents under them, whose tasks begin here. */

import type { Diagnostic } from "./errors.js";
import type { Json, JsonObject } from "./json.js";
import { type Awaitable, type Desk, type Place, then } from "./port.js";
import { type Maybe, type Person, type ReviewOf, type ReviewState, type WrittenReview, reviewOf } from "./review.js";
import { type Begun, type LaterTask, type Task, TaskHere, type TaskOf } from "./task.js";

/** Where tasks are kept, if not in the memory of this process. */
export type Elsewhere =
  | {
      /** A SQLite file, or a database as `postgres://…`. */
      readonly store: string;
      readonly server?: undefined;
    }
  | {
      /** The address of a `celador serve`, with the token that it wants. */
      readonly server: string;
      readonly token?: string;
      readonly store?: undefined;
    };

/** A tool: as MCP lists it, or with a JSON Schema under the name that your framework uses. */
export interface Tool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
}

/** For whom a task runs: their id, or more of them. */
export type User = string | { readonly id: string; readonly email?: string; readonly claims?: JsonObject };

export interface TaskOptions {
  readonly user?: User;
  readonly model?: string;
  /** Texts to find the task by. No expression sees them. */
  readonly metadata?: { readonly [name: string]: string };
  readonly tools?: readonly Tool[];
  /** The task and the call that have delegated to it. */
  readonly parent?: { readonly task: string; readonly call?: string };
}

export interface ReviewFilter {
  readonly state?: ReviewState | "all";
  readonly reviewer?: string;
}

/** An agent under its policies. `Later` says whether its tasks are elsewhere than in memory. */
export interface AgentOf<Later extends boolean> {
  /** Namespace and name: `shop/desk`. */
  readonly name: string;
  readonly place: Place;
  /** Gets or begins the task of this id, such as that of the conversation; without one the task makes its id up. */
  task(id?: string, options?: TaskOptions): Maybe<Later, TaskOf<Later>>;
  /** The same in a store or on a server, wherever the other tasks of this agent are. */
  task(id: string | undefined, options: TaskOptions & Elsewhere): Promise<LaterTask>;
  /** The reviews of all of its tasks, in the order in which they were asked. */
  reviews(filter?: ReviewFilter): Maybe<Later, readonly ReviewOf<Later>[]>;
}

export type Agent = AgentOf<false>;
export type LaterAgent = AgentOf<true>;
export type AnyAgent = Agent | LaterAgent;

/** Manifests and policies that were loaded, or the server that has them. */
export interface PoliciesOf<Later extends boolean> {
  /** An agent by namespace and name, or by its name where only one agent has it; without one the only agent. */
  agent(name?: string, options?: { readonly tools?: readonly Tool[] }): Maybe<Later, AgentOf<Later>>;
  /** The names of all agents. Empty of a server, which does not say them. */
  readonly agents: readonly string[];
  /** Problems for which no manifest is refused. */
  readonly warnings: readonly Diagnostic[];
}

export type Policies = PoliciesOf<false>;
export type LaterPolicies = PoliciesOf<true>;

interface Found {
  readonly handle: number;
  readonly name: string;
  readonly place: Place;
}

export interface Loaded {
  readonly handle: number;
  readonly place: Place;
  readonly agents: readonly string[];
  readonly warnings: readonly Diagnostic[];
}

export class PoliciesHere implements PoliciesOf<boolean> {
  readonly agents: readonly string[];
  readonly warnings: readonly Diagnostic[];
  readonly #desk: Desk;
  /** What `restore` names it by. */
  readonly handle: number;
  readonly #later: boolean;

  constructor(desk: Desk, loaded: Loaded) {
    this.agents = loaded.agents;
    this.warnings = loaded.warnings;
    this.#desk = desk;
    this.handle = loaded.handle;
    this.#later = loaded.place !== "memory";
    desk.keep(this, loaded.handle);
  }

  agent(name?: string, { tools = [] }: { tools?: readonly Tool[] } = {}): Awaitable<AgentOf<boolean>> {
    const body = { ...(name === undefined ? {} : { name }), tools: tools.map(plain) };
    return then(this.#desk.ask<Found>("agent", this.handle, body, this.#later), (found) => agentHere(this.#desk, found));
  }
}

/** The types of `task` depend on where the tasks are, which a class cannot say. */
export function agentHere(desk: Desk, found: Found): AgentOf<boolean> {
  return new AgentHere(desk, found) as unknown as AgentOf<boolean>;
}

class AgentHere {
  readonly name: string;
  readonly place: Place;
  readonly #desk: Desk;
  readonly #handle: number;
  readonly #later: boolean;

  constructor(desk: Desk, found: Found) {
    this.name = found.name;
    this.place = found.place;
    this.#desk = desk;
    this.#handle = found.handle;
    this.#later = found.place !== "memory";
    desk.keep(this, found.handle);
  }

  task(id?: string, options: TaskOptions & Partial<Elsewhere> = {}): Awaitable<TaskHere> {
    const { user, tools, store, server, token, ...rest } = options as TaskOptions & { store?: string; server?: string; token?: string };
    const body = {
      ...(id === undefined ? {} : { id }),
      ...rest,
      ...(user === undefined ? {} : { user: typeof user === "string" ? { id: user } : user }),
      ...(tools === undefined ? {} : { tools: tools.map(plain) }),
      where: { store, server, token },
    };
    const later = this.#later || store !== undefined || server !== undefined;
    return then(this.#desk.ask<Begun>("task", this.#handle, body, later), (begun) => new TaskHere(this.#desk, begun));
  }

  reviews({ state = "open", reviewer }: ReviewFilter = {}): Awaitable<readonly ReviewOf<boolean>[]> {
    const ask = <T>(what: string, body: object) => this.#desk.ask<T>(what, this.#handle, body, this.#later);
    const answer = (review: string, answer: JsonObject) =>
      then(ask<WrittenReview>("answer_review", { review, ...answer }), (now) => {
        this.#desk.changed();
        return now;
      });
    const filter = { ...(state === "all" ? {} : { state }), ...(reviewer === undefined ? {} : { reviewer }) };
    return then(ask<{ reviews: WrittenReview[] }>("reviews", filter), ({ reviews }) =>
      reviews.map((review) => reviewOf(review, answer)),
    );
  }
}

/** A tool without what is not of it: frameworks hang functions and caches on theirs. */
export function plain({ name, description, inputSchema, outputSchema, annotations }: Tool): JsonObject {
  return JSON.parse(JSON.stringify({ name, description, inputSchema, outputSchema, annotations })) as JsonObject;
}

export type { Json, Person, Task };
