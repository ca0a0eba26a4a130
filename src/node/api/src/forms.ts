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
