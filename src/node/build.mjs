// Builds the packages: types and modules by tsc into dist/esm, the same for `require` into dist/cjs. Order: each uses those before it.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { cp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

const PACKAGES = ["api", "core", "wasm", "ai-sdk", "langchain"];

process.chdir(import.meta.dirname);
for (const name of PACKAGES) {
  await rm(join(name, "dist"), { recursive: true, force: true });
  execFileSync("npx", ["tsc", "--project", join(name, "tsconfig.json")], { stdio: "inherit" });
  const [esm, cjs] = [join(name, "dist/esm"), join(name, "dist/cjs")];
  const files = await readdir(esm);
  const modules = files.filter((file) => file.endsWith(".js"));
  await build({ entryPoints: modules.map((file) => join(esm, file)), outdir: cjs, format: "cjs", target: "node20", logLevel: "warning" });
  for (const file of files.filter((file) => file.endsWith(".d.ts"))) await cp(join(esm, file), join(cjs, file));
  await writeFile(join(cjs, "package.json"), '{ "type": "commonjs" }\n');
  if (name === "core") {
    // the folder of modules for `require` is a package of its own to Node, which knows no `#native`
    for (const file of [join(esm, "index.js"), join(cjs, "index.js")]) {
      await writeFile(file, (await readFile(file, "utf8")).replaceAll("#native", "../../native.cjs"));
    }
  }
}

// the examples name the packages as a project of its own would
const modules = "../../examples/node/node_modules";
await rm(modules, { force: true });
await symlink("../../src/node/node_modules", modules);
