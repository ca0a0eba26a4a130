/** A review, as it was when it was read, and the answers to it. */

import type { Origin } from "./decision.js";
import type { Json, JsonObject } from "./json.js";
import { type Awaitable, then } from "./port.js";
import type { components } from "./wire.js";

type Schemas = components["schemas"];

export type ReviewPanel = Schemas["ReviewPanel"];
export type ReviewState = Schemas["ReviewState"];

/** A person who answers: their id, or more of them. A server knows them by its token, and refuses to be told. */
export type Person = string | { readonly id: string; readonly email?: string; readonly groups?: readonly string[] };

export interface Answering {
  readonly note?: string;
  readonly by?: Person;
}

/** A review as the API writes it. */
export type WrittenReview = Schemas["Review"];

/** Sends an answer to the review with this id, and gives the review as it is then. */
export type SendAnswer = (id: string, answer: JsonObject) => Awaitable<WrittenReview>;

/** What a policy asks a person. The answers are values where the task is in memory, and promises elsewhere. */
export interface ReviewOf<Later extends boolean> {
  readonly id: string;
  readonly state: ReviewState;
  readonly task: string;
  readonly question: number;
  /** Who is asked. */
  readonly reviewer: string;
  /** Those of whom several have to approve, or any one. */
  readonly panel?: ReviewPanel;
  readonly call?: string;
  readonly function?: string;
  /** The resolved arguments of the call; what a manifest marks as secret is `***`. */
  readonly arguments?: JsonObject;
  /** What people are asked: the `question` of the step, or one that names the function. */
  readonly text?: string;
  readonly rule?: Origin;
  readonly askedAt?: string;
  readonly expiresAt?: string;
  /** What an answer is bound to. */
  readonly digest: string;
  /** The answer, with who gave it and when. */
  readonly answered?: JsonObject;
  approve(how?: Answering): Maybe<Later, ReviewOf<Later>>;
  deny(how?: Answering): Maybe<Later, ReviewOf<Later>>;
  /** Approves with other arguments, which pass the steps again. */
  edit(args: JsonObject, how?: Answering): Maybe<Later, ReviewOf<Later>>;
  /** Gives the result in the tool's place: the call does not run. */
  respond(result: Json, how?: Answering): Maybe<Later, ReviewOf<Later>>;
}

/** A promise of something, or the thing itself. */
export type Maybe<Later extends boolean, T> = Later extends true ? Promise<T> : T;

export type Review = ReviewOf<false>;

export function reviewOf(written: WrittenReview, send: SendAnswer): ReviewOf<boolean> {
  const answer = (word: string, more: JsonObject, { note, by }: Answering = {}) => {
    const person = typeof by === "string" ? { id: by } : by;
    const whole = { answer: word, ...more, ...(note === undefined ? {} : { note }), ...(person === undefined ? {} : { by: person }) };
    return then(send(written.id, whole as JsonObject), (now) => reviewOf(now, send)) as ReviewOf<boolean>;
  };
  const review = {
    id: written.id,
    state: written.state,
    task: written.task,
    question: written.question,
    reviewer: written.reviewer,
    digest: written.digest,
    ...present({
      panel: written.panel,
      call: written.call,
      function: written.function,
      arguments: written.arguments,
      text: written.text,
      rule: written.rule,
      askedAt: written.asked_at,
      expiresAt: written.expires_at,
      answered: written.answered,
    }),
    approve: (how?: Answering) => answer("approve", {}, how),
    deny: (how?: Answering) => answer("deny", {}, how),
    edit: (args: JsonObject, how?: Answering) => answer("edit", { arguments: args }, how),
    respond: (result: Json, how?: Answering) => answer("respond", { result }, how),
  };
  return Object.freeze(review) as unknown as ReviewOf<boolean>;
}

function present(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null));
}
