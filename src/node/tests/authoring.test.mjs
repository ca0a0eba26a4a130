// What authors ask, in each runtime: the same questions as of the command, with the same answers.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { newStore } from "./folders.mjs";
import { AUTHORING, ROOT, RUNTIMES, hasModule, texts } from "./runtimes.mjs";

const HERE = fileURLToPath(new URL("../", import.meta.url));
const FOLDER = `${ROOT}/tests/data/bindings`;
const QUESTIONS = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".json"))
  .map((file) => [file, JSON.parse(readFileSync(`${FOLDER}/${file}`, "utf8"))]);
const SHOP = texts("tests/data/bindings/shop");
const read = (file) => readFileSync(`${ROOT}/${file}`, "utf8");

// paths are those of the repository
process.chdir(ROOT);

/** Where there are no files, what a path leads to. */
const GIVEN = {
  node: { sources: (paths) => paths, source: (path) => path, among: {} },
  wasm: {
    sources: (paths) => paths.flatMap((path) => (statSync(path).isDirectory() ? texts(path) : [{ name: path, text: read(path) }])),
    source: (path) => ({ name: path, text: read(path) }),
    among: { texts: SHOP },
  },
};

/** How the packages ask what a file of `tests/data/bindings` asks. */
const ASKED = {
  analysis: ({ analysis }, { sources }, given) => analysis(given.sources(sources)),
  check: ({ check }, { sources }, given) => check(given.sources(sources)),
  diff: ({ diff }, body, given) => diff(given.sources(body.old), given.sources(body.new)),
  evaluate: ({ evaluate }, { expression, case: name }, given) => evaluate(expression, undefined, { case: name, ...given.among }),
  explain: ({ explain }, { subject, manifests, ...how }, given) =>
    explain(subject, { ...how, ...given.among, ...(manifests === undefined ? {} : { manifests: given.sources(manifests) }) }),
  fmt: ({ fmt }, { file }) => fmt(read(file)),
  mutate: ({ test }, { sources }, given) => test(given.sources(sources), { mutate: true }).mutation,
  prove: ({ prove }, { policies, invariants, ...bounds }, given) => prove(given.sources(policies), given.source(invariants), bounds),
  replay: ({ replayLines }, { recorded, policies, against }, given) =>
    replayLines(recorded.flatMap((file) => read(file).split("\n")), {
      policies: given.sources(policies),
      ...(against === undefined ? {} : { against: given.sources(against) }),
    }),
};

for (const [name, celador] of Object.entries(AUTHORING)) {
  for (const [file, { ask, body, answer }] of QUESTIONS) {
    test(`${name}: ${file}`, () => assert.deepEqual(ASKED[ask](celador, body, GIVEN[name]), answer));
  }

  test(`${name}: parts of a recording add up`, () => {
    const { replayLines, addReplays } = celador;
    const [, { body, answer }] = QUESTIONS.find(([file]) => file === "replay.json");
    const how = { policies: GIVEN[name].sources(body.policies) };
    const lines = read(body.recorded[0]).split("\n").filter((line) => line !== "");
    const parts = ["t-1", "t-2"].map((task) => replayLines(lines.filter((line) => JSON.parse(line).task === task), how));
    assert.deepEqual(addReplays(parts).decisions, answer.decisions);
    assert.equal(addReplays(parts).flips, answer.flips);
    // more than goes over at once
    const many = function* () {
      for (let task = 0; task < 600; task++) {
        yield JSON.stringify({ task: `t-${task}`, agent: "shop/clerk", at: "2026-06-01T12:00:00Z", input: { message: "Pay." }, verdict: "allow" });
        yield JSON.stringify({ task: `t-${task}`, call: { id: "c", fn: "payout", args: { amount: 60 } }, verdict: "allow" });
      }
    };
    const found = replayLines(many(), how);
    assert.deepEqual([found.decisions, found.tasks, found.flips], [1200, 600, 600]);
    assert.throws(() => replayLines(["{}"], how), { name: "MisuseError", code: "no_recorded_step" });
  });

  test(`${name}: what a call would come to`, () => {
    const { load, MisuseError } = celador;
    const task = load(GIVEN[name].sources(["examples/first-policy/agent.yaml"])).agent().task("thread-1", { user: "u-7" });
    const { decision, steps } = task.explain({ function: "payout", arguments: { amount: 2000 } });
    assert.equal(decision.verdict, "block");
    assert.equal(steps[0].outcome, "fail");
    assert.equal(steps[0].why_not[0].text, "amount at most 1000");
    assert.equal(task.evaluate("c.calls.size()"), 0);
    assert.throws(() => task.explain({ version: 1 }), { name: "MisuseError", code: "no_events" });
    assert.throws(() => task.events(), { code: "no_events" });
    assert.throws(() => task.explain({}), { code: "bad_request" });
  });

  test(`${name}: mistakes of authors are errors with carets`, () => {
    const { diff, prove, explain } = celador;
    const first = GIVEN[name].sources(["examples/first-policy/agent.yaml"]);
    const broken = { name: "shop.yaml", text: "kind: celador/v1/policy\nnamespace: shop\n" };
    assert.throws(() => diff(first, broken), (error) => error.name === "LoadError" && error.message.includes("^"));
    const invariants = { name: "i.yaml", text: "kind: celador/v1/invariants\ninvariants: [{id: a, call: payout, always: inptu.amount < 3}]\n" };
    assert.throws(() => prove(first, invariants), (error) => error.name === "LoadError" && error.message.includes("^"));
    assert.throws(() => explain("nowhere.yaml", GIVEN[name].among), { name: "LoadError", code: "unreadable" });
    assert.throws(() => explain("tests/data/bindings/shop/task.yaml", { ...GIVEN[name].among, step: 99 }), { code: "unknown_step" });
  });
}

test("wasm: the module that decides says that it has not what authors ask", { skip: !hasModule }, () => {
  const { wasm } = RUNTIMES;
  const notHere = { name: "MisuseError", code: "not_here" };
  const [text] = SHOP;
  for (const ask of [
    () => wasm.diff(text, text),
    () => wasm.prove(text, text),
    () => wasm.explain("a.yaml", { texts: SHOP }),
    () => wasm.fmt("a: 1"),
    () => wasm.replayLines([], { policies: text }),
    () => wasm.addReplays([]),
    () => wasm.test(SHOP, { mutate: true }),
    () => wasm.analysis(text),
  ]) {
    assert.throws(ask, notHere);
  }
});

/** The manifest of the first example, with something else in the place of a part of it. */
const changed = (part, other) => {
  const text = read("examples/first-policy/agent.yaml");
  assert.ok(text.includes(part));
  return { name: "agent.yaml", text: text.replace(part, other) };
};

test("wasm: the module that decides says that it does not analyse, and that for authors refuses what all others refuse", { skip: !hasModule }, () => {
  const codes = (diagnostics) => diagnostics.map(({ code, refused }) => `${code}${refused ? ", refused" : ""}`);
  const { wasm } = RUNTIMES;
  const never = changed("input.amount <= 1000", "input.amount <= 1000 && input.amount > 2000");
  assert.deepEqual(codes(wasm.check(never)), ["not_analysed"]);
  assert.deepEqual(codes(wasm.load(never).warnings), ["not_analysed"]);
  for (const { load } of Object.values(AUTHORING)) {
    assert.throws(() => load(never), (error) => error.code === "refused" && codes(error.diagnostics).includes("never_true, refused"));
  }
  // a comment about what an analysis would find is no stale one
  const allowed = changed("input.amount <= 1000", "input.amount <= 1000 && input.amount > 2000 # celador: allow(never_true) to see what comes");
  for (const { load } of [wasm, ...Object.values(AUTHORING)]) load(allowed);
});

test("formats of names in any script are known in each runtime", () => {
  const named = changed("amount: {type", "host: {type: string, description: Where., format: idn-hostname}\n        amount: {type");
  for (const { load } of [...Object.values(RUNTIMES), ...Object.values(AUTHORING)]) {
    const verdict = (host) => load(named).agent().task("thread-1", { user: "u-7" }).before("payout", { amount: 40, host }).verdict;
    assert.deepEqual(["bücher.example", "-bücher.example"].map(verdict), ["allow", "error"]);
  }
});

test("decisions of a task in a store are explained", async () => {
  const { load } = RUNTIMES.node;
  const store = newStore();
  const policies = await load("examples/first-policy", { store });
  const task = await (await policies.agent()).task("thread-1", { user: "u-7" });
  assert.equal((await task.before("payout", { amount: 2000 })).verdict, "block");
  const events = await task.events();
  assert.deepEqual(events.map(({ operation }) => operation), ["started", "before"]);
  const explained = await task.explain({ version: events[1].version });
  assert.deepEqual([explained.same, explained.decision.verdict, explained.steps[0].outcome], [true, "block", "fail"]);
  const tried = await task.explain({ function: "payout", arguments: { amount: 40 } });
  assert.equal(tried.decision.verdict, "allow");
});

test("a file of recorded steps is read as a stream", () => {
  const [, { body, answer }] = QUESTIONS.find(([file]) => file === "replay.json");
  assert.deepEqual(RUNTIMES.node.replay(body.recorded, { policies: body.policies }), answer);
  assert.throws(() => RUNTIMES.node.replay("nowhere.jsonl", { policies: body.policies }), { code: "unreadable" });
});

/** The types of what comes out. */
const TYPES = { analysis: "Analysis", diff: "Differences", explain: "Explained", mutate: "Mutation", prove: "Proofs", replay: "Replayed" };

test("the types say what comes out", () => {
  // a checker compares each answer, written down as a literal, with its type: it refuses a member too many or too few
  const typed = QUESTIONS.filter(([, { ask }]) => ask in TYPES);
  const literals = typed.map(([, { ask, answer }], at) => `export const answer${at}: ${TYPES[ask]} = ${JSON.stringify(answer)};`);
  const types = [...new Set(Object.values(TYPES))].join(", ");
  const folder = `${HERE}/dist/types`;
  mkdirSync(folder, { recursive: true });
  const check = (...more) => {
    writeFileSync(`${folder}/answers.ts`, [`import type { ${types} } from "@celador/core";`, ...literals, ...more].join("\n"));
    const options = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2022", "--skipLibCheck"];
    execFileSync("npx", ["tsc", ...options, `${folder}/answers.ts`], { cwd: HERE, encoding: "utf8", stdio: "pipe" });
  };
  check();
  assert.throws(() => check('export const wrong: Analysis = { clauses: 1, decided: 1, contradicted: 0, unknown: [], more: 1 };'), /./);
});
