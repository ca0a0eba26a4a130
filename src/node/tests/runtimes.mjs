// The engines that the same tests are run with: the addon of Node, and the WebAssembly module.
import * as core from "@celador/core";
import { celadorFrom } from "@celador/wasm";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The path of a module: as it ships or as it is built for tests, whichever is newer. Absent if neither was built. */
const moduleFile = (name) =>
  ["src/node/wasm", "target/wasm/tests"]
    .map((folder) => `${ROOT}/${folder}/${name}`)
    .filter((path) => existsSync(path))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];

/** The module that decides, and the one that has what authors ask. */
export const MODULE = moduleFile("celador.wasm");
const AUTHORING_MODULE = moduleFile("celador-authoring.wasm");

/** Whether the first was built. It takes long, so a developer who changes the addon alone can go without it; CI cannot. */
export const hasModule = MODULE !== undefined;
if (!hasModule || AUTHORING_MODULE === undefined) {
  const missing = "a WebAssembly module is missing, and its tests are left out: run .ci/wasm --check";
  if (process.env.CI) throw new Error(missing);
  console.error(missing);
}

/** The engine of a module, if it was built. */
const ofModule = async (path) => (path === undefined ? {} : { wasm: await celadorFrom(readFileSync(path)) });

/** Those that answer what authors ask: of WebAssembly the module that has it. */
export const AUTHORING = { node: core, ...(await ofModule(AUTHORING_MODULE)) };

export const RUNTIMES = { node: core, ...(await ofModule(MODULE)) };

/** The YAML files of folders, as texts under their names. */
export function texts(...folders) {
  return folders.flatMap((folder) =>
    readdirSync(`${ROOT}/${folder}`, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
      .map((entry) => `${entry.parentPath}/${entry.name}`)
      .map((path) => ({ name: path.slice(ROOT.length).replace(/^\/+/, ""), text: readFileSync(path, "utf8") })),
  );
}
