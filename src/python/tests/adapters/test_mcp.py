"""The guard of MCP servers, between the client of the official SDK and its server, and that of `fastmcp`. A server hears of no message and no turn, so
that the scenarios of whole agents are not for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import importlib.util
import multiprocessing
import pathlib
import types
from typing import Any

import celador
import celador.mcp
import pytest
from celador._turns import Tasks
from mcp import Client
from mcp.server import MCPServer
from mcp_types import ElicitResult

import desk

MODES = ("auto", "legacy")
"""The newest revision of the protocol, in which a server asks in its answer, and those before it."""


KINDS = ("sdk", "fastmcp") if importlib.util.find_spec("fastmcp") else ("sdk",)
"""The packages that servers are made with. `fastmcp` does not go together with the other frameworks, so it is installed in a place of its own."""

LEAD: Any = {"id": "u-1", "email": "lead@example.com"}

pytestmark = pytest.mark.parametrize("kind", KINDS)


def served(kind: str, agent: Any, shop: desk.Shop, **options: Any) -> Any:
    """What a client connects to: a server whose tools are guarded."""
    guarded: Any = MCPServer("desk") if kind == "sdk" else importlib.import_module("fastmcp").FastMCP("desk")
    for tool in shop.tools:
        guarded.add_tool(tool)
    celador.mcp.guard(guarded, agent, **{"user": "u-1", "task": lambda _: "thread-1"} | options)
    return guarded


def reached(server: Any) -> Any:
    """What the SDK's client takes: it knows the SDK's own servers alone."""
    return getattr(server, "_mcp_server", server)


def text(result: Any) -> str:
    return "".join(block.text for block in result.content)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("call", "ran", "told", "is_error"),
    [
        (("get_order", {"order": "o1"}), [["get_order", {"order": "o1"}]], "open", False),
        (("refund", {"order": "o1", "amount": 5000}), [], "5000 is more than 1000.", True),
        (("send_mail", {"text": "Hello."}), [["send_mail", {"text": "Hello.", "sender": "desk@example.com"}]], "sent", False),
        (("get_order", {"order": "o2"}), [["get_order", {"order": "o2"}]], "[credit_card]", False),
        (("get_order", {"order": "broken"}), [["get_order", {"order": "broken"}]], "", True),
        (("close_order", {"order": "o1"}), [], "Look the order up first.", True),
    ],
)
def test_a_call(kind: str, mode: Any, call: Any, ran: Any, told: str, is_error: bool) -> None:
    shop = desk.Shop()
    server = served(kind, desk.agent({}), shop)

    async def run() -> Any:
        async with Client(reached(server), mode=mode) as client:
            return await client.call_tool(*call)

    result = asyncio.run(run())
    assert shop.ran == ran
    assert bool(result.is_error) == is_error
    assert told in text(result)
    assert "4111111111111111" not in repr(result)


@pytest.mark.parametrize("mode", MODES)
def test_a_limit_of_calls(kind: str, mode: Any) -> None:
    shop = desk.Shop()
    server = served(kind, desk.agent({"limits": {"max_tool_calls": 1}}), shop)

    async def run() -> list[Any]:
        async with Client(reached(server), mode=mode) as client:
            return [await client.call_tool("get_order", {"order": "o1"}) for _ in range(2)]

    first, second = asyncio.run(run())
    assert not first.is_error and second.is_error
    assert "max_tool_calls" in text(second)
    assert len(shop.ran) == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answers", [{600: True, 700: True}, {600: True, 700: False}, {600: False, 700: False}])
def test_two_reviews_beside_another_call(kind: str, mode: Any, answers: dict[int, bool]) -> None:
    """The client's user, to whom the reviews are addressed, is asked about both, while the other call runs."""
    shop, asked = desk.Shop(), []
    agent = desk.agent({})
    server = served(kind, agent, shop, user=LEAD)

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        await asyncio.sleep(0.05)
        amount = next(amount for amount in answers if str(amount) in params.message)
        return ElicitResult(action="accept", content={"approve": answers[amount]})

    async def run() -> list[Any]:
        async with Client(reached(server), mode=mode, elicitation_callback=elicit) as client:
            return await asyncio.gather(
                client.call_tool("get_order", {"order": "o1"}),
                client.call_tool("refund", {"order": "o1", "amount": 600}),
                client.call_tool("refund", {"order": "o1", "amount": 700}),
            )

    results = asyncio.run(run())
    assert len(asked) == 2
    paid = [amount for amount, approved in answers.items() if approved]
    assert sorted(arguments["amount"] for name, arguments in shop.ran if name == "refund") == paid
    assert [bool(result.is_error) for result in results] == [False, *(not approved for approved in answers.values())]
    assert all(f"The lead did not approve {amount}." in text(result) for amount, result in zip(answers, results[1:], strict=True) if not answers[amount])
    states = {review.arguments["amount"]: review.state for review in agent.task("thread-1", LEAD).reviews(state="all")}
    assert states == {amount: "approved" if approved else "denied" for amount, approved in answers.items()}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("user", "elicit", "is_asked"), [("u-1", "user", False), (LEAD, "user", True), ("u-1", "anyone", True), (LEAD, "never", False)])
def test_who_is_asked_in_the_client(kind: str, mode: Any, user: Any, elicit: Any, is_asked: bool) -> None:
    """Nobody answers in the client what is addressed to somebody else."""
    shop, asked = desk.Shop(), []
    server = served(kind, desk.agent({}), shop, user=user, elicit=elicit)

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": True})

    async def run() -> Any:
        async with Client(reached(server), mode=mode, elicitation_callback=answer) as client:
            return await client.call_tool("refund", {"order": "o1", "amount": 600})

    result = asyncio.run(run())
    assert bool(asked) == is_asked == bool(shop.ran)
    assert bool(result.is_error) != is_asked


@pytest.mark.parametrize("mode", MODES)
def test_what_is_no_tool_is_refused(kind: str, mode: Any) -> None:
    """Resources and prompts are functions that the agent has or has not; other methods are refused by name."""
    server = served(kind, desk.agent({}), desk.Shop())

    @server.resource("shop://secret")
    def secret() -> str:
        return "swordfish"

    @server.prompt()
    def greeting() -> str:
        return "swordfish"

    async def run() -> None:
        async with Client(reached(server), mode=mode) as client:
            for what in (lambda: client.read_resource("shop://secret"), lambda: client.get_prompt("greeting"), client.list_resources):
                with pytest.raises(Exception, match="refused: the agent has no function '(resources/read|prompts/get)'"):
                    await what()

    asyncio.run(run())


RESOURCES = """
kind: celador/v1/tools
namespace: shop
name: resources
tools:
  - name: resources/read
    inputSchema: {type: object, properties: {uri: {type: string}}, required: [uri]}
---
kind: celador/v1/policy
namespace: shop
name: reading
capabilities:
  resources/read:
    before: [{id: shop, assert: "input.uri.startsWith('shop://')", error_message: Only of the shop.}]
    after: [{id: word, transform: "{'contents': output.contents.map(c, {'uri': c.uri, 'text': c.text.replace('swordfish', '***')})}"}]
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: desk
description: Answers customers.
prompt: You answer customers of a shop.
capabilities:
  resources: "*"
"""


@pytest.mark.parametrize("mode", MODES)
def test_a_resource_is_read_under_the_policies(kind: str, mode: Any) -> None:
    server = served(kind, celador.load({"desk.yaml": RESOURCES}).agent("shop/desk"), desk.Shop())

    @server.resource("shop://secret")
    def secret() -> str:
        return "It is swordfish."

    @server.resource("other://secret")
    def other() -> str:
        return "swordfish"

    async def run() -> Any:
        async with Client(reached(server), mode=mode) as client:
            with pytest.raises(Exception, match="Only of the shop."):
                await client.read_resource("other://secret")
            return await client.read_resource("shop://secret")

    read = asyncio.run(run())
    assert "It is ***." in repr(read) and "swordfish" not in repr(read)


@pytest.mark.parametrize("mode", MODES)
def test_a_review_that_somebody_else_answers(kind: str, mode: Any) -> None:
    """A client that asks nobody is told whom the call waits for, and makes it again."""
    shop, agent = desk.Shop(), desk.agent({})
    server = served(kind, agent, shop)
    call: Any = ("refund", {"order": "o1", "amount": 600})

    async def run() -> list[Any]:
        async with Client(reached(server), mode=mode) as client:
            first = await client.call_tool(*call)
            again = await client.call_tool(*call)
            (review,) = agent.reviews()
            review.approve()
            return [first, again, await client.call_tool(*call), await client.call_tool(*call)]

    waits, still, done, anew = asyncio.run(run())
    assert waits.is_error and "lead@example.com" in text(waits)
    assert still.is_error
    assert not done.is_error and "600" in text(done)
    assert anew.is_error, "an approval is for one call"
    assert shop.ran == [["refund", {"order": "o1", "amount": 600}]]


def in_a_process(kind: str, folder: pathlib.Path, mode: Any) -> tuple[bool, str, list[Any]]:
    """The same call at a server that is begun for it, by a client that asks nobody: whether it failed, the text, the calls that ran."""
    shop = desk.Shop()
    server = served(kind, desk.agent({}, store=folder / "celador.db"), shop)

    async def run() -> Any:
        async with Client(reached(server), mode=mode) as client:
            return await client.call_tool("refund", {"order": "o1", "amount": 600})

    result = asyncio.run(run())
    return bool(result.is_error), text(result), shop.ran


@pytest.mark.parametrize("mode", MODES)
def test_another_process_goes_on(kind: str, mode: Any, tmp_path: pathlib.Path) -> None:
    """The call waits for a review; the server ends; the reviewer answers; the client makes the call again at another server."""
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as first:
        waits, told, ran = first.submit(in_a_process, kind, tmp_path, mode).result()
    assert waits and "lead@example.com" in told and ran == []
    (review,) = desk.agent({}, store=tmp_path / "celador.db").reviews()
    review.approve()
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as second:
        failed, told, ran = second.submit(in_a_process, kind, tmp_path, mode).result()
    assert not failed and "600" in told
    assert ran == [["refund", {"order": "o1", "amount": 600}]]


def test_the_list_has_what_the_agent_offers(kind: str) -> None:
    shop = desk.Shop()
    server = served(kind, desk.agent({}), shop)

    @server.tool()
    def delete_everything() -> str:
        """A tool that no manifest admits."""
        shop.ran.append(["delete_everything", {}])
        return "gone"

    async def run() -> tuple[list[str], Any]:
        async with Client(reached(server)) as client:
            return [tool.name for tool in (await client.list_tools()).tools], await client.call_tool("delete_everything", {})

    names, result = asyncio.run(run())
    assert names == ["get_order", "close_order", "refund", "send_mail"]
    assert result.is_error and shop.ran == []


def test_a_state_that_somebody_makes_up_selects_nothing(kind: str) -> None:
    """Servers of the SDK seal the states of questions; one of its low level does not."""
    guard = celador.mcp._Guard(Tasks(desk.agent({}), "u-1", None), None, "user", frozenset())
    conversation = guard._tasks.of("thread-1", None)
    made_up = {"requestState": '{"celador": "made-up"}'}
    assert guard._id(conversation, made_up, "refund", {"order": "o1", "amount": 600}) != "made-up"
    conversation.call("known", "refund", {"order": "o1", "amount": 600})
    assert guard._id(conversation, {"requestState": '{"celador": "known"}'}, "refund", {"order": "o1", "amount": 600}) == "known"


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_finds_its_call_without_a_connection(kind: str, mode: Any) -> None:
    """Without `task` a request of a client that keeps no connection is a task of its own, and the answer to a question is another request."""
    shop, asked = desk.Shop(), []
    server = served(kind, desk.agent({}), shop, user=LEAD, task=None)

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": True})

    async def run() -> list[Any]:
        async with Client(reached(server), mode=mode, elicitation_callback=answer) as client:
            return [await client.call_tool("refund", {"order": order, "amount": 600}) for order in ("o1", "o2")]

    results = asyncio.run(run())
    assert len(asked) == 2 and [bool(result.is_error) for result in results] == [False, False]
    assert [arguments["order"] for name, arguments in shop.ran if name == "refund"] == ["o1", "o2"]


def test_the_state_of_a_question_is_of_use_to_its_user_alone(kind: str) -> None:
    guard = celador.mcp._Guard(Tasks(desk.agent({}), lambda request: request.user, None), None, "user", frozenset())
    guard._asked["known"] = ("thread-1", "u-1")
    state = {"requestState": '{"celador": "known"}'}

    def chosen(user: str) -> str:
        context: Any = types.SimpleNamespace(params=state, user=user, session=types.SimpleNamespace(_connection=_Connection()))
        return guard._conversation(context)

    assert chosen("u-1") == "thread-1" and chosen("u-2") != "thread-1"


class _Connection:
    """A connection, as far as the guard knows one."""
