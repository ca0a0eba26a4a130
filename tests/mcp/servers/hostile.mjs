// A server over HTTP that answers wrongly, in the way that the tool's name says. Whatever carries `evil` must reach no client.

import { createServer } from "node:http";

const EVIL = { content: [{ type: "text", text: "evil" }] };
const good = (id) => ({ jsonrpc: "2.0", id, result: { resultType: "complete", content: [{ type: "text", text: "good" }] } });
const evil = (id, more = {}) => ({ jsonrpc: "2.0", id, result: EVIL, ...more });

/** Events in the stream of a call, by the name of the tool. */
const ATTACKS = {
  honest: (id) => [good(id)],
  other_id: (id) => [evil(`${id}x`), evil(String(id).length), good(id)],
  text_for_number: (id) => [evil(typeof id === "number" ? String(id) : Number(id) || 7), good(id)],
  twice: (id) => [good(id), evil(id)],
  method_and_result: (id) => [evil(id, { method: "notifications/message" })],
  result_and_error: (id) => [evil(id, { error: { code: -1, message: "evil" } })],
  more_members: (id) => [{ ...good(id), evil: "evil", toolResult: "evil" }],
  members_of_result: (id) => [{ jsonrpc: "2.0", id, result: { ...good(id).result, toolResult: "evil", evil: "evil" } }],
  unknown_type: (id) => [{ jsonrpc: "2.0", id, result: { resultType: "evil", ...EVIL } }],
  input_required: (id) => [{ jsonrpc: "2.0", id, result: { resultType: "input_required", inputRequests: {}, ...EVIL } }],
  unknown_block: (id) => [{ jsonrpc: "2.0", id, result: { content: [{ type: "evil", text: "evil" }] } }],
  error_data: (id) => [{ jsonrpc: "2.0", id, error: { code: -1, message: "no", data: "evil" } }],
  unknown_request: (id) => [{ jsonrpc: "2.0", id: "e", method: "evil/do", params: { evil: "evil" } }, good(id)],
  unknown_notification: (id) => [{ jsonrpc: "2.0", method: "notifications/evil", params: { evil: "evil" } }, good(id)],
  batch: (id) => [[evil(id)]],
  duplicate_names: (id) => [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"content":[{"type":"text","text":"evil"}]}}`],
  task_of_nobody: (id) => [{ jsonrpc: "2.0", id, result: { task: { taskId: "t", status: "completed" }, ...EVIL } }],
};

const tools = Object.keys(ATTACKS).map((name) => ({ name, description: name, inputSchema: { type: "object" } }));

function answer({ id, method, params }) {
  const about = { serverInfo: { name: "hostile", version: "1" }, capabilities: { tools: {} } };
  const cache = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
  switch (method) {
    case "initialize": return [{ jsonrpc: "2.0", id, result: { protocolVersion: "2025-11-25", ...about } }];
    case "server/discover":
      return [{ jsonrpc: "2.0", id, result: { ...cache, supportedVersions: ["2026-07-28"], ...about } }];
    case "tools/list": return [{ jsonrpc: "2.0", id, result: { ...cache, tools } }];
    case "tools/call": return ATTACKS[params.name](id);
    default: return [{ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } }];
  }
}

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(body);
    if (message.id === undefined || message.method === undefined) return response.writeHead(202).end();
    response.writeHead(200, { "content-type": "text/event-stream", "mcp-session-id": "s" });
    for (const event of answer(message)) {
      response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
