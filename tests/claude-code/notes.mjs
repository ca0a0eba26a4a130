// A server of MCP with two tools, for an agent that may use one of them.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const server = new McpServer({ name: "notes", version: "1.0.0" });
const said = (text) => async () => ({ content: [{ type: "text", text }] });
server.registerTool("read", { description: "Reads the notes." }, said("Buy milk."));
server.registerTool("wipe", { description: "Takes all notes away." }, said("Wiped."));
await server.connect(new StdioServerTransport());
