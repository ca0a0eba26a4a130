// Folders that tests write to. They are gone when the process ends, whether its tests have passed or not.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new folder, among those of the system or in `parent`. */
export function newFolder(parent = tmpdir()) {
  const folder = mkdtempSync(join(parent, "celador-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** A file for a store, in a new folder. */
export const newStore = () => join(newFolder(), "tasks.db");
