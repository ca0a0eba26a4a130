"""`celador mcp` between the official Python client, in both of its protocols, and a server in Python."""

import logging
import os
import sys
import unittest

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult

# tests of asyncio tell of every step that takes a tenth of a second
logging.getLogger("asyncio").setLevel(logging.ERROR)

CELADOR = os.environ["CELADOR"]
RULES = ["--policies", "policies/shop", "--user", "u-7", "--email", "kim@example.com"]


def text(result) -> str:
    return "\n".join(block.text for block in result.content)


class Shop(unittest.IsolatedAsyncioTestCase):
    def client(self, mode: str, decision: str = "approve", options: list[str] = RULES) -> Client:
        self.asked: list[str] = []

        async def answer(context, params):
            self.asked.append(params.message)
            return ElicitResult(action="accept", content={"decision": decision})

        command = ["mcp", *options, "--", sys.executable, "servers/shop.py"]
        server = StdioServerParameters(command=CELADOR, args=command, env=dict(os.environ))
        return Client(stdio_client(server), mode=mode, elicitation_callback=answer)

    async def test_rules_hold_in_each_protocol(self):
        for mode in ["legacy", "auto"]:
            with self.subTest(mode=mode):
                async with self.client(mode) as client:
                    tools = await client.list_tools()
                    self.assertEqual(len(tools.tools), 4)
                    refused = await client.call_tool("refund", {"order": "o-1", "amount": 2000})
                    self.assertEqual((refused.is_error, text(refused)), (True, "2000 is more than 1000."))
                    paid = await client.call_tool("refund", {"order": "o-1", "amount": 20})
                    self.assertEqual(text(paid), "paid 20 for o-1 (signed by celador)")
                    order = await client.call_tool("get_order", {"order": "o-1"})
                    self.assertNotIn("4111", str(order))
                    self.assertEqual(order.structured_content["total"], 60.0)
                    page = await client.read_resource("shop://orders/o-1")
                    self.assertNotIn("4111", page.contents[0].text)
                    prompt = await client.get_prompt("apology", {"name": "Kim"})
                    self.assertIn("Kim", prompt.messages[0].content.text)

    async def test_reviews_are_asked_in_each_protocol(self):
        for mode in ["legacy", "auto"]:
            for decision, expected in [("approve", "paid 100 for o-1 (signed by celador)"), ("deny", None)]:
                with self.subTest(mode=mode, decision=decision):
                    async with self.client(mode, decision) as client:
                        paid = await client.call_tool("refund", {"order": "o-1", "amount": 100})
                        self.assertEqual(len(self.asked), 1)
                        self.assertIn("May `refund` run", self.asked[0])
                        self.assertEqual(bool(paid.is_error), expected is None)
                        if expected:
                            self.assertEqual(text(paid), expected)

    async def test_progress_goes_through(self):
        async with self.client("legacy") as client:
            told = []

            async def progress(now, total, message):
                told.append((now, total))

            done = await client.call_tool("slow", {"seconds": 0.1}, progress_callback=progress)
            self.assertEqual((text(done), told), ("done", [(1, 2)]))


if __name__ == "__main__":
    unittest.main()
