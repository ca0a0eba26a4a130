// `celador mcp` between the official TypeScript client and server-everything: what a client sees is the same as without it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { connected, directly, EVERYTHING, guarded, listening } from "./clients.mjs";

const OPEN = ["--policies", "policies/open"];

// what differs from one run to the next
const CALLS = [
  ["echo", { message: "héllo" }],
  ["get-sum", { a: 1.5, b: 2 }],
  ["get-sum", { a: "no number" }],
  ["no-such-tool", {}],
  ["get-structured-content", { location: "Chicago" }],
  ["get-annotated-message", { messageType: "error", includeImage: true }],
  ["get-tiny-image", {}],
  ["get-resource-links", { count: 3 }],
  ["get-resource-reference", { resourceType: "Text", resourceId: 1 }],
  ["get-roots-list", {}],
];

async function seen(client) {
  const outcome = (promise) => promise.then((value) => ({ value }), (error) => ({ code: error.code }));
  const all = { server: client.getServerVersion(), able: client.getServerCapabilities(), said: client.getInstructions() };
  all.tools = await outcome(client.listTools());
  all.resources = await outcome(client.listResources());
  all.templates = await outcome(client.listResourceTemplates());
  all.prompts = await outcome(client.listPrompts());
  all.static = await outcome(client.readResource({ uri: all.resources.value.resources[0].uri }));
  all.missing = await outcome(client.readResource({ uri: "demo://resource/none" }));
  all.prompt = await outcome(client.getPrompt({ name: "args-prompt", arguments: { city: "Bern", state: "BE" } }));
  all.badPrompt = await outcome(client.getPrompt({ name: "no-such-prompt" }));
  all.completed = await outcome(
    client.complete({ ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "E" } }),
  );
  all.ping = await outcome(client.ping());
  all.calls = [];
  for (const [name, args] of CALLS) {
    const said = await outcome(client.callTool({ name, arguments: args }));
    // a tool that is not there and arguments that do not fit are refused by the guard itself, in words of its own
    all.calls.push(said.value?.isError ? { name, isError: true } : said);
  }
  return JSON.parse(JSON.stringify(all).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|\d+:\d+:\d+ [AP]M/g, "TIME"));
}

for (const [way, open] of [
  ["pipes", () => connected(guarded(OPEN, EVERYTHING))],
  ["streamable HTTP", async (t) => connected(await listening(t, OPEN, EVERYTHING))],
]) {
  test(`all of server-everything is the same over ${way}`, async (t) => {
    const plain = await connected(directly(EVERYTHING));
    t.after(() => plain.close());
    const client = await open(t);
    t.after(() => client.close());
    const [expected, found] = [await seen(plain), await seen(client)];
    assert.ok(expected.tools.value.tools.length >= 15, "the server has lost its tools");
    for (const part of Object.keys(expected)) assert.deepEqual(found[part], expected[part], part);
  });

  test(`progress, logging, sampling, elicitation and cancellation go through over ${way}`, async (t) => {
    const client = await open(t);
    t.after(() => client.close());
    // as it comes: the client of the SDK drops the last one where it comes in one piece with the result
    const progress = [];
    const { onmessage } = client.transport;
    client.transport.onmessage = (message, extra) => {
      if (message.method === "notifications/progress") progress.push(message.params.progress);
      onmessage(message, extra);
    };
    const long = { name: "trigger-long-running-operation", arguments: { duration: 0.4, steps: 4 } };
    const done = await client.callTool(long, undefined, { onprogress: () => {} });
    assert.match(done.content[0].text, /completed/i);
    assert.deepEqual(progress, [1, 2, 3, 4]);

    const sampled = await client.callTool({ name: "trigger-sampling-request", arguments: { prompt: "hi", maxTokens: 9 } });
    assert.match(JSON.stringify(sampled.content), /sampled by the test/);
    const asked = await client.callTool({ name: "trigger-elicitation-request", arguments: {} });
    assert.match(JSON.stringify(asked.content), /declined/i);

    const stop = new AbortController();
    const never = client.callTool(
      { name: "trigger-long-running-operation", arguments: { duration: 30, steps: 3 } }, undefined, { signal: stop.signal },
    );
    setTimeout(() => stop.abort("enough"), 100);
    await assert.rejects(never, /enough/);
    assert.equal((await client.callTool({ name: "echo", arguments: { message: "on" } })).content[0].text, "Echo: on");
  });
}

test("a call whose result comes later is judged when it comes", async (t) => {
  const client = await connected(guarded(OPEN, EVERYTHING));
  t.after(() => client.close());
  const kinds = [];
  const stream = client.experimental.tasks.callToolStream({
    name: "simulate-research-query", arguments: { topic: "policies" },
  }, undefined, { task: { ttl: 60_000 } });
  let result;
  for await (const message of stream) {
    kinds.push(message.type);
    if (message.type === "result") result = message.result;
    assert.notEqual(message.type, "error", JSON.stringify(message));
  }
  assert.ok(kinds.includes("taskCreated") && kinds.at(-1) === "result", kinds.join());
  assert.match(JSON.stringify(result.content), /policies/);
});

test("many calls at once are answered each with its own result", async (t) => {
  const client = await connected(guarded(OPEN, EVERYTHING));
  t.after(() => client.close());
  const sums = await Promise.all(
    Array.from({ length: 100 }, (_, n) => client.callTool({ name: "get-sum", arguments: { a: n, b: 1000 } })),
  );
  sums.forEach((sum, n) => assert.match(sum.content[0].text, new RegExp(`\\b${n + 1000}\\b`)));
});
