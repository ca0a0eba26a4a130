/** Tables of what an adapter knows: for each form of a message or a part what becomes of it. */

import { MisuseError } from "./errors.js";

/** What becomes of a form: rules read it and what goes on is written from their decision, it passes without, it is an error, or it is left out. */
export type Treatment = "judged" | "passed" | "refused" | "dropped";

/** A row. What has no row is refused. */
export interface Form {
  /** The kind as the framework writes it. */
  readonly name: string;
  /** Where it stands. */
  readonly from: string;
  readonly treatment: Treatment;
  readonly note: string;
}

/** The error for what has no row, or one that says `refused`. It names the kind, and holds nothing of the message. */
export function unknownForm(from: string, name: unknown): MisuseError {
  return new MisuseError("unknown_form", `${from}: \`${String(name).slice(0, 64)}\` is of a kind that cannot be judged`);
}

/** The codes of errors about what no rule can read. */
const UNREADABLE: readonly unknown[] = ["unknown_form", "provider_tool", "unguarded_tool"];
/** So many forms are named once each; more are named whenever they come. */
const MOST_NAMED = 1024;

/** What becomes of forms that no rule can read: an error, or where an adapter observes they go on as they came, each logged once. */
export class UnknownForms {
  readonly #observes: boolean;
  readonly #named = new Set<string>();

  constructor(observe = false) {
    this.#observes = observe;
  }

  /** What `read` gives; where it finds a form that no rule can read, and the adapter observes, `instead`. */
  or<T, U>(read: () => T, instead: U): T | U {
    try {
      return read();
    } catch (error) {
      this.passOn(error);
      return instead;
    }
  }

  /** Throws the error on, unless it is about a form that goes on. */
  passOn(error: unknown): void {
    const { name, code, message } = Object(error) as { name?: string; code?: string; message?: string };
    if (!this.#observes || name !== "MisuseError" || !UNREADABLE.includes(code)) throw error;
    const what = String(message);
    if (this.#named.has(what)) return;
    if (this.#named.size < MOST_NAMED) this.#named.add(what);
    console.warn(`celador: passed on unjudged: ${what}`);
  }
}
