// `celador mcp` over HTTP with both official clients in TypeScript, against servers that are honest, hostile, or want a token.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { connect as connectSocket } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { connected, EVERYTHING, guardedUrl, listening, SHOP, text } from "./clients.mjs";

const RULES = ["--policies", "policies/shop", "--user", "u-7", "--email", "kim@example.com"];
const OPEN = ["--policies", "policies/open"];
const REVISIONS = ["legacy", "auto", { pin: "2026-07-28" }];

/** A server over HTTP in Node, until the test is over. */
async function serving(t, script) {
  const server = spawn("node", [script], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => server.kill());
  for await (const line of createInterface({ input: server.stdout })) return line;
  throw new Error(`${script} does not listen`);
}

async function client(t, url, mode, options = {}) {
  const it = new Client({ name: "tests", version: "1" }, {
    capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode }, ...options,
  });
  it.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { decision: "approve" } }));
  await it.connect(new StreamableHTTPClientTransport(new URL(url)));
  t.after(() => it.close());
  return it;
}

for (const mode of REVISIONS) {
  const name = mode.pin ?? mode;
  test(`the client of 2.x in mode ${name}`, async (t) => {
    const { _url: url } = await listening(t, RULES, SHOP);
    const it = await client(t, url, mode);
    const call = (name, args) => it.callTool({ name, arguments: args });
    assert.equal((await it.listTools()).tools.length, 4);
    assert.equal(text(await call("refund", { order: "o-1", amount: 20 })), "paid 20 for o-1 (signed by celador)");
    assert.equal(text(await call("refund", { order: "o-1", amount: 2000 })), "2000 is more than 1000.");
    assert.equal(text(await call("refund", { order: "o-1", amount: 100 })), "paid 100 for o-1 (signed by celador)");
    assert.doesNotMatch(JSON.stringify(await call("get_order", { order: "o-1" })), /4111/);
    const page = await it.readResource({ uri: "shop://orders/o-1" });
    assert.doesNotMatch(JSON.stringify(page), /4111/);
    const stop = new AbortController();
    const never = it.callTool({ name: "slow", arguments: { seconds: 60 } }, { signal: stop.signal });
    setTimeout(() => stop.abort("enough"), 100);
    await assert.rejects(never);
    const progress = [];
    await it.callTool({ name: "slow", arguments: { seconds: 0.1 } }, { onprogress: (now) => progress.push(now.progress) });
    assert.deepEqual(progress, [1]);
  });

  test(`nothing of a hostile server reaches the client in mode ${name}`, async (t) => {
    const server = await serving(t, "servers/hostile.mjs");
    const { _url: url } = await listening(t, OPEN, ["--url", server]);
    const it = await client(t, url, mode);
    const { onmessage } = it.transport;
    const seen = [];
    it.transport.onmessage = (message, extra) => (seen.push(JSON.stringify(message)), onmessage(message, extra));
    for (const { name: tool } of (await it.listTools()).tools) {
      seen.length = 0;
      const result = await it.callTool({ name: tool, arguments: {} }).catch((error) => error);
      if (tool === "honest") assert.equal(text(result), "good");
      assert.doesNotMatch(seen.join(), /evil/, tool);
      // a client that is asked for nothing asks again, each time under another id
      const ids = seen.map((message) => JSON.parse(message).id).filter((id) => id !== undefined);
      assert.equal(new Set(ids).size, ids.length, `${tool}: ${seen}`);
    }
  });
}

test("the client of 1.x falls back to nothing less than its own revision", async (t) => {
  const it = await connected(await listening(t, OPEN, EVERYTHING));
  t.after(() => it.close());
  assert.match((await it.callTool({ name: "echo", arguments: { message: "x" } })).content[0].text, /x/);
});

test("server-memory works over HTTP", async (t) => {
  const memory = ["node", "node_modules/@modelcontextprotocol/server-memory/dist/index.js"];
  const { _url: url } = await listening(t, OPEN, memory);
  const it = await client(t, url, "auto");
  const entities = [{ name: "Kim", entityType: "person", observations: ["likes tea"] }];
  await it.callTool({ name: "create_entities", arguments: { entities } });
  assert.match(JSON.stringify(await it.callTool({ name: "search_nodes", arguments: { query: "tea" } })), /Kim/);
  await it.callTool({ name: "delete_entities", arguments: { entityNames: ["Kim"] } });
});

test("a client in auto mode falls back to the revision of its server", async (t) => {
  const { _url: url } = await listening(t, OPEN, EVERYTHING);
  const it = await client(t, url, "auto");
  assert.ok((await it.listTools()).tools.length >= 10);
});

for (const [way, open] of [
  ["--listen", async (t) => listening(t, OPEN, EVERYTHING)],
  ["--listen and --url", async (t) => listening(t, OPEN, ["--url", (await listening(t, OPEN, EVERYTHING))._url.href])],
  ["--url", async (t) => guardedUrl(OPEN, (await listening(t, OPEN, EVERYTHING))._url.href)],
]) {
  test(`a task of a call is not lost over ${way}`, async (t) => {
    const it = await connected(await open(t));
    t.after(() => it.close());
    const kinds = [];
    const stream = it.experimental.tasks.callToolStream(
      { name: "simulate-research-query", arguments: { topic: "policies" } }, undefined, { task: { ttl: 60_000 } },
    );
    for await (const message of stream) kinds.push(message.type);
    assert.ok(kinds.includes("taskCreated") && kinds.at(-1) === "result", kinds.join());
  });
}

test("a client obtains a token for the server behind the guard", async (t) => {
  const server = await serving(t, "servers/protected.mjs");
  const { _url: url } = await listening(t, OPEN, ["--url", server]);
  const kept = {};
  const authProvider = {
    redirectUrl: "http://127.0.0.1:1/callback",
    clientMetadata: { client_name: "tests", redirect_uris: ["http://127.0.0.1:1/callback"], token_endpoint_auth_method: "none" },
    clientInformation: () => kept.client, saveClientInformation: (it) => (kept.client = it),
    tokens: () => kept.tokens, saveTokens: (it) => (kept.tokens = it),
    codeVerifier: () => kept.verifier, saveCodeVerifier: (it) => (kept.verifier = it),
    redirectToAuthorization: (it) => (kept.asked = it),
  };
  const open = async (finish) => {
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    if (finish) await transport.finishAuth("code");
    const it = new Client({ name: "tests", version: "1" });
    await it.connect(transport);
    return it;
  };
  await assert.rejects(open(false), UnauthorizedError);
  assert.equal(kept.asked.searchParams.get("scope"), "shop");
  assert.equal(kept.asked.searchParams.get("resource"), url.href);
  const it = await open(true);
  t.after(() => it.close());
  assert.equal(text(await it.callTool({ name: "hello", arguments: {} })), "hello");
});

test("over pipes the error says that the server asks for a token", async (t) => {
  const server = await serving(t, "servers/protected.mjs");
  await assert.rejects(connected(guardedUrl(OPEN, server)), /asks for authorization \(401\).*--header-file/);
});

test("a session ends with DELETE, and its id is unknown then", async (t) => {
  const { _url: url } = await listening(t, OPEN, SHOP);
  const it = await client(t, url, "legacy");
  const id = it.transport.sessionId;
  const end = () => fetch(url, { method: "DELETE", headers: { "mcp-session-id": id } });
  assert.equal((await end()).status, 204);
  assert.equal((await end()).status, 404);
});

test("silent connections are closed", async (t) => {
  const { _url: url } = await listening(t, OPEN, SHOP);
  const closed = (bytes) => new Promise((resolve) => {
    const socket = connectSocket(Number(url.port), url.hostname, () => bytes && socket.write(bytes));
    socket.on("close", resolve).on("error", () => {}).resume();
  });
  const sent = ["", "PRI * HTTP/2.0\r\n\r\nSM", "GET /mcp HTTP/1.1\r\nhost: ", "GET /x HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"];
  await Promise.race([
    Promise.all(sent.map(closed)),
    new Promise((_, reject) => setTimeout(() => reject(new Error("a silent connection is open")), 30_000).unref()),
  ]);
});
