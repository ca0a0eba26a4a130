"""An MCP server whose only tool runs in the background, by the extension `io.modelcontextprotocol/tasks`. It speaks over pipes, or over HTTP at a port."""

import asyncio
import sys

from fastmcp import FastMCP
from fastmcp_tasks import TasksExtension

server = FastMCP("jobs")
server.add_extension(TasksExtension())


@server.tool(task=True)
async def analyze(dataset: str) -> str:
    """Analyses a dataset."""
    await asyncio.sleep(0.2)
    return f"{dataset}: card 4111 1111 1111 1111"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
    else:
        server.run(show_banner=False)
