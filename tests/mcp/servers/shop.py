"""An MCP server of a shop, written with the Python SDK. It speaks over pipes, or over HTTP at a port.

`GREETING` changes the description of one tool.
"""

import os
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("shop", instructions=os.environ.get("INSTRUCTIONS", "Orders of a shop."))
paid: list[tuple[str, float]] = []


class Order(BaseModel):
    order: str
    total: float
    card: str


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def get_order(order: str) -> Order:
    """Finds an order."""
    return Order(order=order, total=60.0, card="4111 1111 1111 1111")


@server.tool(description=os.environ.get("GREETING", "Pays money back."))
def refund(order: str, amount: float, note: str = "") -> str:
    paid.append((order, amount))
    return f"paid {amount:g} for {order} ({note})"


@server.tool()
def list_paid(owner: str = "nobody") -> list[str]:
    """Lists what was paid back, and for whom."""
    return [f"{order}: {amount:g} for {owner}" for order, amount in paid]


@server.tool()
async def slow(seconds: float, ctx: Context) -> str:
    """Takes its time."""
    import anyio

    await ctx.report_progress(1, 2)
    await anyio.sleep(seconds)
    return "done"


@server.resource("shop://orders/{order}")
def order_page(order: str) -> str:
    return f"Order {order}, card 4111 1111 1111 1111"


@server.prompt()
def apology(name: str) -> str:
    """Writes an apology."""
    return f"Write to {name} that we are sorry."


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
