// What a decision costs from Node: the addon, WebAssembly, and beside them packages that evaluate policies there. Rows of `benches/runtimes/run`.
//
// In: a number of rounds (ROUNDS). Out: a line of JSON for each engine: the median, the 90th and the 99th percentile of a decision in microseconds,
// the milliseconds until it is loaded in a process of its own, and the bytes that are installed. Each answer is asserted before it is timed.
//
// Celador's rows are whole decisions of a task: limits, the schema of the arguments, the guard, the record of the call. The others evaluate the
// guard alone. All are given an object with three arguments.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const peers = createRequire(here("../../target/tools/node-peers/package.json"));
const CORE = here("../../src/node/core");
const WASM = here("../../src/node/wasm");
const manifest = { name: "refunds.yaml", text: readFileSync(here("refunds.yaml"), "utf8") };
const input = { order_id: "o-1041", amount: 180, note: "Came broken." };
const GUARD = "input.amount <= 1000 && input.order_id.startsWith('o-') && input.note.size() < 100";
if (!manifest.text.includes(GUARD)) throw new Error("another guard than that of refunds.yaml");
/** Tasks grow with their calls, so each is asked so often and then replaced. */
const CALLS = 1_000;

function celador({ load }) {
  const agent = load(manifest).agent();
  if (agent.task().before("refund", { ...input, amount: 2000 }).verdict !== "block") throw new Error("it is let through");
  let asked = 0, task;
  return [
    () => task.before("refund", input),
    (decision) => {
      if (!decision.allowed) throw new Error(decision.message);
      task.after(decision.call, { paid: 180 });
    },
    () => { if (asked++ % CALLS === 0) task = agent.task(); },
  ];
}

const yes = (said) => { if (said !== true) throw new Error(`it said ${said}`); };

function cedar() {
  const { preparsePolicySet, statefulIsAuthorized } = peers("@cedar-policy/cedar-wasm/nodejs");
  const staticPolicies = `permit(principal, action, resource) when {
    context.input.amount <= 1000 && context.input.order_id like "o-*" && context.input.note != ""
  };`;
  preparsePolicySet("refunds", { staticPolicies, templates: {}, templateLinks: [] });
  const ask = (context) => statefulIsAuthorized({
    principal: { type: "User", id: "u" }, action: { type: "Action", id: "refund" }, resource: { type: "Shop", id: "s" },
    context, preparsedPolicySetId: "refunds", entities: [], validateRequest: false,
  }).response?.decision === "allow";
  if (ask({ input: { ...input, amount: 2000 } })) throw new Error("cedar lets it through");
  return [() => ask({ input }), yes, () => {}];
}

async function cel() {
  const { Environment } = await import(pathToFileURL(peers.resolve("@marcbachmann/cel-js")));
  const guard = new Environment().registerVariable("input", "dyn").parse(GUARD);
  const data = { ...input, amount: BigInt(input.amount) };
  if (guard({ input: { ...data, amount: 2000n } }) !== false) throw new Error("cel-js lets it through");
  return [() => guard({ input: data }), yes, () => {}];
}

const size = (path) => statSync(path).isDirectory() ? readdirSync(path).reduce((sum, name) => sum + size(join(path, name)), 0) : statSync(path).size;
const folder = (name) => size(here(`../../target/tools/node-peers/node_modules/${name}`));
const brotli = (path) => brotliCompressSync(readFileSync(path), { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 } }).length;

/** How long it takes to load in a process of its own, without that of Node itself: the median. */
function loading(program) {
  const timed = `const begun = performance.now(); ${program}; console.log(performance.now() - begun);`;
  const run = () => Number(execFileSync(process.execPath, ["--input-type=module", "--eval", timed], { encoding: "utf8", cwd: here(".") }));
  return Array.from({ length: 11 }, run).sort((a, b) => a - b)[5];
}

const core = join(CORE, "dist/esm/index.js"), wasm = join(WASM, "dist/esm/index.js"), module = join(WASM, "celador.wasm");
const engines = {
  "Celador in Node, the addon": {
    made: celador(await import(pathToFileURL(core))),
    load: `await import(${JSON.stringify(core)})`,
    bytes: size(join(CORE, "celador.node")),
  },
  "Celador in Node, WebAssembly": {
    made: celador(await (await import(pathToFileURL(wasm))).celadorFrom(readFileSync(module))),
    load: `const { readFileSync } = await import("node:fs"); await (await import(${JSON.stringify(wasm)})).celadorFrom(readFileSync(${JSON.stringify(module)}))`,
    bytes: size(module),
    brotli: brotli(module),
  },
  "@marcbachmann/cel-js in Node": {
    made: await cel(),
    load: `await import(${JSON.stringify(peers.resolve("@marcbachmann/cel-js"))})`,
    bytes: folder("@marcbachmann/cel-js"),
  },
  "@cedar-policy/cedar-wasm in Node": {
    made: cedar(),
    load: `await import(${JSON.stringify(peers.resolve("@cedar-policy/cedar-wasm/nodejs"))})`,
    bytes: folder("@cedar-policy/cedar-wasm"),
  },
};
const ROUNDS = Number(process.env.ROUNDS ?? 50);
const times = new Map(Object.keys(engines).map((name) => [name, []]));
for (let round = -5; round < ROUNDS; round += 1) {
  for (const [name, { made: [decide, report, begin] }] of Object.entries(engines)) {
    for (let call = 0; call < 200; call += 1) {
      begin();
      const begun = process.hrtime.bigint();
      const said = decide();
      const took = Number(process.hrtime.bigint() - begun) / 1000;
      report(said);
      // the first rounds warm up
      if (round >= 0) times.get(name).push(took);
    }
  }
}
for (const [what, list] of times) {
  list.sort((a, b) => a - b);
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => list[Math.floor(list.length * share)]);
  const { load, bytes, brotli: sent } = engines[what];
  console.log(JSON.stringify({ what, p50, p90, p99, load_ms: loading(load), bytes, ...(sent === undefined ? {} : { brotli: sent }) }));
}
