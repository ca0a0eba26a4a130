"""An MCP server whose tools `guard` holds to `house.yaml`, and a client whose user is the lead, and is asked for the review."""

import asyncio
import pathlib
from typing import Any

import celador.mcp
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult, ElicitResult, TextContent

server: MCPServer[Any] = MCPServer("desk")


@server.tool()
def get_order(order: str) -> dict[str, Any]:
    """Looks an order up."""
    return {"status": "broken", "total": 700, "card": "4111111111111111"}


@server.tool()
def refund(order: str, amount: float) -> str:
    """Pays money back."""
    return f"{amount} is paid"


async def approve(context: Any, params: Any) -> ElicitResult:
    print("asks  ", params.message.replace("\n", " - "))
    return ElicitResult(action="accept", content={"approve": True})


def told(result: CallToolResult) -> str:
    return " ".join(block.text for block in result.content if isinstance(block, TextContent))


async def main() -> None:
    # Up to here it is any server and any client. The next two statements are all that Celador asks for.
    agent = celador.agent_for(celador.mcp.tools(await server.list_tools()), pathlib.Path(__file__).with_name("house.yaml"), name="shop/desk")
    celador.mcp.guard(server, agent, user={"id": "u-7", "email": "lead@example.com"})

    async with Client(server, elicitation_callback=approve) as client:
        print("tool  ", told(await client.call_tool("get_order", {"order": "o1"})))
        print("tool  ", told(await client.call_tool("refund", {"order": "o1", "amount": 700})))
        print("tool  ", told(await client.call_tool("refund", {"order": "o1", "amount": 5000})))


asyncio.run(main())
