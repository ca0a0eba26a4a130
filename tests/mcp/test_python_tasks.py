"""`celador mcp` between a client and a server of fastmcp, with calls that run in the background (`io.modelcontextprotocol/tasks`)."""

import sys
import unittest

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp_tasks import call_tool_task
from test_python_http import CELADOR, at_an_address, listening

JOBS = [sys.executable, "servers/jobs.py"]
RULES = ["--policies", "policies/jobs"]


class Tasks(unittest.IsolatedAsyncioTestCase):
    async def all_of_the_jobs(self, client: Client):
        async with client:
            task = await call_tool_task(client, "analyze", {"dataset": "d"})
            self.assertTrue(task.task_id)
            result = await task.result()
            self.assertIn("d: card", str(result.content))
            self.assertNotIn("4111", str(result))
            refused = await client.call_tool("analyze", {"dataset": "secret"}, raise_on_error=False)
            self.assertIn("closed", str(refused.content))

    async def test_the_result_of_a_task_is_judged_over_pipes(self):
        pipes = StdioTransport(CELADOR, ["mcp", *RULES, "--", *JOBS], keep_alive=False)
        await self.all_of_the_jobs(Client(pipes))

    async def test_the_result_of_a_task_is_judged_over_listen(self):
        with listening("--", *JOBS, rules=RULES) as url:
            await self.all_of_the_jobs(Client(url))

    async def test_the_result_of_a_task_is_judged_over_listen_and_url(self):
        with at_an_address(JOBS) as server, listening("--url", server, rules=RULES) as url:
            await self.all_of_the_jobs(Client(url))


if __name__ == "__main__":
    unittest.main()
