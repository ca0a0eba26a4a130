/** A review, as it was when it was read, and the answers to it. */

import { type Camel, camel } from "./decision.js";
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

/** Whether the API may leave a member out, or write null for it. */
type MayLack<Member> = undefined extends Member ? true : null extends Member ? true : false;

/** The members of a review under the names that they have here; absent where the API has null. What a manifest marks as secret is `***`. */
type Members = {
  readonly [K in keyof WrittenReview as MayLack<WrittenReview[K]> extends true ? never : Camel<K>]: WrittenReview[K];
} & {
  readonly [K in keyof WrittenReview as MayLack<WrittenReview[K]> extends true ? Camel<K> : never]?: Exclude<WrittenReview[K], null>;
};

/** The answers to a review. They are values where the task is in memory, and promises elsewhere. */
interface Answers<Later extends boolean> {
  approve(how?: Answering): Maybe<Later, ReviewOf<Later>>;
  deny(how?: Answering): Maybe<Later, ReviewOf<Later>>;
  /** Approves with other arguments, which pass the steps again. */
  edit(args: JsonObject, how?: Answering): Maybe<Later, ReviewOf<Later>>;
  /** Gives the result in the tool's place: the call does not run. */
  respond(result: Json, how?: Answering): Maybe<Later, ReviewOf<Later>>;
}

/** What a policy asks a person, and the answers to it. */
export type ReviewOf<Later extends boolean> = Members & Answers<Later>;

/** A promise of something, or the thing itself. */
export type Maybe<Later extends boolean, T> = Later extends true ? Promise<T> : T;

export type Review = ReviewOf<false>;

export function reviewOf(written: WrittenReview, send: SendAnswer): ReviewOf<boolean> {
  const answer = (word: string, more: JsonObject, { note, by }: Answering = {}) => {
    const person = typeof by === "string" ? { id: by } : by;
    const whole = { answer: word, ...more, ...(note === undefined ? {} : { note }), ...(person === undefined ? {} : { by: person }) };
    return then(send(written.id, whole as JsonObject), (now) => reviewOf(now, send)) as ReviewOf<boolean>;
  };
  const members = Object.entries(written).filter(([, value]) => value != null);
  const review = {
    ...Object.fromEntries(members.map(([name, value]) => [camel(name), value])),
    approve: (how?: Answering) => answer("approve", {}, how),
    deny: (how?: Answering) => answer("deny", {}, how),
    edit: (args: JsonObject, how?: Answering) => answer("edit", { arguments: args }, how),
    respond: (result: Json, how?: Answering) => answer("respond", { result }, how),
  };
  return Object.freeze(review) as unknown as ReviewOf<boolean>;
}
