// The engines that the same tests are run with: the addon of Node, and the WebAssembly module.
import * as core from "@celador/core";
import { celadorFrom } from "@celador/wasm";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

const module = new URL("../wasm/celador.wasm", import.meta.url);

/** Whether the module was built: it takes long, so whoever changes the addon alone may do without, and is told. */
export const hasModule = existsSync(module);
if (!hasModule) console.error("the WebAssembly module is not tried: run .ci/wasm first");

/** The engine of a module, if it was built. */
const ofModule = async (file) => (existsSync(file) ? { wasm: await celadorFrom(readFileSync(file)) } : {});

/** Those that answer what authors ask: of WebAssembly the module that has it. */
export const AUTHORING = { node: core, ...(await ofModule(new URL("../wasm/celador-authoring.wasm", import.meta.url))) };

export const RUNTIMES = { node: core, ...(await ofModule(module)) };

/** The YAML files of folders, as texts under their names. */
export function texts(...folders) {
  return folders.flatMap((folder) =>
    readdirSync(`${ROOT}/${folder}`, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
      .map((entry) => `${entry.parentPath}/${entry.name}`)
      .map((path) => ({ name: path.slice(ROOT.length).replace(/^\/+/, ""), text: readFileSync(path, "utf8") })),
  );
}
