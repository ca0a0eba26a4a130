// Clients of the official TypeScript SDK, at a server itself or at the guard in front of it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

/** Set by `.ci/mcp`: the command, and a Python with the packages of `requirements.txt`. */
export const CELADOR = process.env.CELADOR;
const PYTHON = process.env.CELADOR_MCP_PYTHON;

const packages = "node_modules/@modelcontextprotocol";
export const EVERYTHING = ["node", `${packages}/server-everything/dist/index.js`, "stdio"];
export const files = (folder) => ["node", `${packages}/server-filesystem/dist/index.js`, folder];
export const SHOP = [PYTHON, "servers/shop.py"];

/** The environment of a server: that of the tests, and more. */
const environment = (more) => ({ ...process.env, ...more });

const pipes = (command, env) =>
  new StdioClientTransport({ command: command[0], args: command.slice(1), env: environment(env), stderr: "ignore" });

export const directly = (server, env) => pipes(server, env);
export const guarded = (options, server, env) => pipes([CELADOR, "mcp", ...options, "--", ...server], env);
export const guardedUrl = (options, url) => pipes([CELADOR, "mcp", ...options, "--url", url]);

/** A guard that listens, until the test is over. */
export async function listening(t, options, server) {
  const command = ["mcp", ...options, "--listen", "127.0.0.1:0", ...server];
  if (!server.includes("--url")) command.splice(command.length - server.length, 0, "--");
  const guard = spawn(CELADOR, command, { stdio: ["ignore", "pipe", "ignore"] });
  t.after(() => guard.kill());
  for await (const line of createInterface({ input: guard.stdout })) {
    return new StreamableHTTPClientTransport(new URL(line.replace("listening on ", "")));
  }
  throw new Error("the guard does not listen");
}

/** A client with a user who answers forms by `answer`, by default with a no. */
export async function connected(transport, answer = () => ({ action: "decline" }), capabilities = { elicitation: {} }) {
  const able = { sampling: {}, roots: { listChanged: true }, ...capabilities };
  const client = new Client({ name: "tests", version: "1" }, { capabilities: able });
  if (capabilities.elicitation) client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: "test", role: "assistant", content: { type: "text", text: "sampled by the test" },
  }));
  if (able.roots) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///srv", name: "srv" }] }));
  await client.connect(transport);
  return client;
}

/** The text of a result. */
export const text = (result) => result.content.map((block) => block.text).join("\n");
