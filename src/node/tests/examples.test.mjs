// The examples run, and print what they say.
import { build } from "esbuild";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { newFolder } from "./folders.mjs";
import { MODULE, ROOT, hasModule } from "./runtimes.mjs";

const HERE = fileURLToPath(new URL("../", import.meta.url));

const PRINTED = {
  core: ['run it with {"amount":40}', "ask u-7", "tell the model: 4000 is more than 1000.", 'run it with {"amount":400}', "true"],
  "ai-sdk": ['May it run? refund {"amount":400}', "It is paid."],
  langchain: ['May it run? {"amount":400}', "It is paid."],
};

for (const [name, lines] of Object.entries(PRINTED)) {
  test(`examples/node/${name}.ts`, async () => {
    // below the packages, which it imports by their names
    const outfile = `${HERE}/dist/${name}.mjs`;
    mkdirSync(`${HERE}/dist`, { recursive: true });
    await build({ entryPoints: [`${ROOT}/examples/node/${name}.ts`], outfile, format: "esm", target: "node20" });
    const printed = execFileSync(process.execPath, [outfile], { cwd: HERE, encoding: "utf8" });
    assert.deepEqual(printed.trim().split("\n"), lines);
  });
}

test("the packages load with require, too", () => {
  const script = `
    const { load } = require("@celador/core");
    const { guard } = require("@celador/ai-sdk");
    const { celadorMiddleware } = require("@celador/langchain");
    const { celadorFrom } = require("@celador/wasm");
    console.log([load, guard, celadorMiddleware, celadorFrom].map((it) => typeof it).join());`;
  const printed = execFileSync(process.execPath, ["-e", script], { cwd: HERE, encoding: "utf8" });
  assert.equal(printed.trim(), "function,function,function,function");
});

/** What the first lines of each README take for granted. */
const GIVEN = {
  core: "",
  wasm: `
    import { readFileSync } from "node:fs";
    const text = readFileSync("policies/agent.yaml", "utf8");
    const fetch = () => readFileSync("${MODULE}");`,
  "ai-sdk": `
    import { generateText, jsonSchema, stepCountIs, tool } from "ai";
    import { MockLanguageModelV3 } from "ai/test";
    const tools = { look: tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => 1 }) };
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    const said = { content: [{ type: "text", text: "We are sorry." }], finishReason: { unified: "stop" }, usage, warnings: [] };
    const model = new MockLanguageModelV3({ doGenerate: async () => said });
    process.on("exit", () => console.log(text));`,
  langchain: `
    import { FakeListChatModel } from "@langchain/core/utils/testing";
    import { MemorySaver } from "@langchain/langgraph";
    import { createAgent } from "langchain";
    const [model, tools, checkpointer] = [new FakeListChatModel({ responses: ["We are sorry."] }), [], new MemorySaver()];
    process.on("beforeExit", async () => {
      if (globalThis.isOver) return;
      globalThis.isOver = true;
      const { messages } = await agent.invoke({ messages: "My lamp came broken." }, { configurable: { thread_id: "t" } });
      console.log(messages.at(-1).text);
    });`,
};
const SAID = { core: "false 2000 is outside what a clerk may pay.", wasm: "allow", "ai-sdk": "We are sorry.", langchain: "We are sorry." };

for (const [name, given] of Object.entries(GIVEN)) {
  test(`the first lines of ${name}/README.md`, { skip: name === "wasm" && !hasModule }, () => {
    const [, lines] = /```js\n([^]*?)```/.exec(readFileSync(`${HERE}/${name}/README.md`, "utf8"));
    const folder = newFolder(join(HERE, "dist"));
    // a folder `policies` as the reader has it
    cpSync(`${ROOT}/examples/first-policy`, `${folder}/policies`, { recursive: true });
    writeFileSync(`${folder}/lines.mjs`, `${given}\n${lines}`);
    const printed = execFileSync(process.execPath, [`${folder}/lines.mjs`], { cwd: folder, encoding: "utf8" });
    assert.equal(printed.trim(), SAID[name]);
  });
}
