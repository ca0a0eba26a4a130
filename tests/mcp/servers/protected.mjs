// A server over HTTP that wants a token of its authorization server, which is at the same address and gives one to everybody.

import { createServer } from "node:http";

const json = (response, status, body, headers = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

const server = createServer((request, response) => {
  const origin = `http://127.0.0.1:${server.address().port}`;
  const url = new URL(request.url, origin);
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    switch (url.pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return json(response, 200, { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ["shop"] });
      case "/.well-known/oauth-authorization-server":
        return json(response, 200, {
          issuer: origin, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`, response_types_supported: ["code"],
          grant_types_supported: ["authorization_code", "refresh_token"], code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
        });
      case "/register": return json(response, 201, { ...JSON.parse(body), client_id: "c-1" });
      case "/token": return json(response, 200, { access_token: "t-1", token_type: "Bearer", scope: "shop" });
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    if (request.headers.authorization !== "Bearer t-1") {
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      return json(response, 401, {}, { "www-authenticate": `Bearer resource_metadata="${metadata}", scope="shop"` });
    }
    const { id, method } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    const result = {
      initialize: { protocolVersion: "2025-11-25", serverInfo: { name: "protected", version: "1" }, capabilities: { tools: {} } },
      "tools/list": { tools: [{ name: "hello", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: "hello" }] },
    }[method];
    json(response, 200, { jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "no" } }) });
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
