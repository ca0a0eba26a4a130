// A server of MCP with three tools, for an agent that may use two of them. The third asks the user.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "notes", version: "1.0.0" });
const said = (text) => async () => ({ content: [{ type: "text", text }] });
server.registerTool("read", { description: "Reads the notes." }, said("Buy milk."));
server.registerTool("wipe", { description: "Takes all notes away." }, said("Wiped."));
server.registerTool("ask", { description: "Asks the user.", inputSchema: { what: z.string() } }, async ({ what }) => {
    const requestedSchema = { type: "object", properties: { [what]: { type: "string" } }, required: [what] };
    const { action, content } = await server.server.elicitInput({ message: `Which ${what}?`, requestedSchema });
    return { content: [{ type: "text", text: `${action} ${JSON.stringify(content ?? null)}` }] };
});
await server.connect(new StdioServerTransport());
