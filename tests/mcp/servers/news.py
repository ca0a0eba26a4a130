"""An MCP server that changes: a call adds a tool, and updates a resource to which clients subscribe. It speaks over pipes, or over HTTP at a port."""

import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("news")
lines = ["first"]


@server.resource("news://latest")
def latest() -> str:
    return lines[-1]


@server.tool()
async def publish(line: str, ctx: Context) -> str:
    """Publishes a line."""
    lines.append(line)
    await ctx.notify_resource_updated("news://latest")
    await ctx.notify_tools_changed()
    return "published"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
