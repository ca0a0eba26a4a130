"""`celador mcp` over HTTP between the official Python client, in each of its modes, and servers behind pipes and at an address."""

import contextlib
import logging
import os
import socket
import subprocess
import sys
import time
import unittest

import anyio
from mcp import Client
from mcp_types import ElicitResult

logging.getLogger("asyncio").setLevel(logging.ERROR)

CELADOR = os.environ["CELADOR"]
RULES = ["--policies", "policies/shop", "--user", "u-7", "--email", "kim@example.com"]
SHOP = [sys.executable, "servers/shop.py"]
NEWS = [sys.executable, "servers/news.py"]
REVISIONS = ["legacy", "auto", "2026-07-28"]


def text(result) -> str:
    return "\n".join(block.text for block in result.content)


@contextlib.contextmanager
def listening(*command: str, rules: list[str] = RULES):
    """A guard that listens, until the test is over."""
    guard = subprocess.Popen(
        [CELADOR, "mcp", *rules, "--listen", "127.0.0.1:0", *command],
        stdout=subprocess.PIPE, stderr=None if os.environ.get("SHOW_LOG") else subprocess.DEVNULL, text=True,
    )
    try:
        yield guard.stdout.readline().strip().removeprefix("listening on ")
    finally:
        guard.kill()
        guard.wait()
        guard.stdout.close()


@contextlib.contextmanager
def at_an_address(command: list[str] = SHOP):
    """A server over HTTP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([*command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


class OverHttp(unittest.IsolatedAsyncioTestCase):
    def client(self, url: str, mode: str, decision: str = "approve") -> Client:
        self.asked: list[str] = []

        async def answer(context, params):
            self.asked.append(params.message)
            return ElicitResult(action="accept", content={"decision": decision})

        return Client(url, mode=mode, elicitation_callback=answer)

    async def all_of_the_shop(self, url: str, mode: str):
        async with self.client(url, mode) as client:
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
            paid = await client.call_tool("refund", {"order": "o-1", "amount": 100})
            self.assertEqual(text(paid), "paid 100 for o-1 (signed by celador)")
            self.assertEqual(len(self.asked), 1)
            told = []

            async def progress(now, total, message):
                told.append((now, total))

            done = await client.call_tool("slow", {"seconds": 0.1}, progress_callback=progress)
            self.assertEqual((text(done), told), ("done", [(1, 2)]))

    async def test_all_of_the_shop_behind_pipes(self):
        with listening("--", *SHOP) as url:
            for mode in REVISIONS:
                with self.subTest(mode=mode):
                    await self.all_of_the_shop(url, mode)

    async def test_all_of_the_shop_at_an_address(self):
        with at_an_address() as server, listening("--url", server) as url:
            for mode in REVISIONS:
                with self.subTest(mode=mode):
                    await self.all_of_the_shop(url, mode)

    async def test_calls_side_by_side_have_their_own_results(self):
        with listening("--", *SHOP) as url:
            for mode in REVISIONS:
                with self.subTest(mode=mode):
                    async with self.client(url, mode) as client, self.client(url, mode) as other:
                        texts = {}

                        async def pay(who, amount):
                            name = f"o-{amount}"
                            texts[name] = text(await who.call_tool("refund", {"order": name, "amount": amount}))

                        async with anyio.create_task_group() as group:
                            for amount in range(1, 41):
                                group.start_soon(pay, client if amount % 2 else other, amount)
                        for amount in range(1, 41):
                            name = f"o-{amount}"
                            self.assertEqual(texts[name], f"paid {amount} for {name} (signed by celador)")

    async def test_a_call_that_is_given_up_is_cancelled(self):
        with listening("--", *SHOP) as url:
            for mode in REVISIONS:
                with self.subTest(mode=mode):
                    async with self.client(url, mode) as client:
                        with anyio.move_on_after(0.3):
                            await client.call_tool("slow", {"seconds": 60})
                        paid = await client.call_tool("refund", {"order": "o-1", "amount": 20})
                        self.assertEqual(text(paid), "paid 20 for o-1 (signed by celador)")

    async def subscribed(self, url: str):
        async with self.client(url, "2026-07-28") as client, self.client(url, "2026-07-28") as other:
            async with client.listen(tools_list_changed=True, resource_subscriptions=["news://latest"]) as changes:
                self.assertEqual(text(await other.call_tool("publish", {"line": "second"})), "published")
                seen = set()
                with anyio.fail_after(60):
                    async for change in changes:
                        seen.add(type(change).__name__)
                        if len(seen) == 2:
                            break
            page = await client.read_resource("news://latest")
            self.assertEqual(page.contents[0].text, "second")

    async def test_a_subscription_hears_of_changes(self):
        with listening("--", *NEWS) as url:
            await self.subscribed(url)
        with at_an_address(NEWS) as server, listening("--url", server) as url:
            await self.subscribed(url)


if __name__ == "__main__":
    unittest.main()
