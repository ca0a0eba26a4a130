"""What only LangChain has: tools that end the run, typed responses, agents in tools, answers that come from elsewhere."""

from __future__ import annotations

import asyncio
import pathlib
from typing import Any

import celador.langchain
import pytest
from drive_langchain import Scripted
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

import desk

THREAD: Any = {"configurable": {"thread_id": "thread-1"}}
HELLO: Any = {"messages": [{"role": "user", "content": "Hello."}]}
REFUND: dict[str, Any] = {"id": "c1", "function": "refund", "arguments": {"order": "o1", "amount": 600}}
OTHER: dict[str, Any] = {"id": "c2", "function": "refund", "arguments": {"order": "o1", "amount": 700}}


def built(script: list[dict[str, Any]], shop: desk.Shop, agent: Any = None, **options: Any) -> Any:
    direct = options.pop("return_direct", False)
    tools = [StructuredTool.from_function(tool, return_direct=direct) for tool in shop.tools]
    guard = celador.langchain.Middleware(agent or desk.agent({}), user="u-1", interrupts=options.pop("interrupts", "together"))
    return create_agent(Scripted(script=script), tools, middleware=[guard], checkpointer=InMemorySaver(), **options)


def test_a_tool_that_ends_the_run_is_asked_about_as_well() -> None:
    shop = desk.Shop()
    graph = built([{"calls": [REFUND]}], shop, return_direct=True)
    graph.invoke(HELLO, THREAD)
    assert shop.ran == [] and len(graph.get_state(THREAD).interrupts) == 1
    result = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert [name for name, _ in shop.ran] == ["refund"]
    assert "600" in result["messages"][-1].text


class Answer(BaseModel):
    word: str


@pytest.mark.parametrize(("word", "comes"), [("hello", True), ("swordfish", False)])
def test_a_typed_response_is_judged(word: str, comes: bool) -> None:
    script = [{"calls": [{"id": "c1", "function": "Answer", "arguments": {"word": word}}]}]
    result = built(script, desk.Shop(), response_format=ToolStrategy(Answer)).invoke(HELLO, THREAD)
    assert (result.get("structured_response") is not None) == comes
    assert ("swordfish" in repr(result)) is False
    assert comes or result["messages"][-1].text == "I cannot say that."


def test_answers_that_do_not_fit_change_nothing() -> None:
    shop = desk.Shop()
    graph = built([{"calls": [REFUND, OTHER]}, {"text": "Paid."}], shop)
    graph.invoke(HELLO, THREAD)
    with pytest.raises(ValueError, match="2 calls are in review"):
        graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert shop.ran == []
    graph.invoke(Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]}), THREAD)
    assert shop.ran == [["refund", {"order": "o1", "amount": 600}]]


def test_who_was_first_counts() -> None:
    """A review that somebody has answered elsewhere stays as it is, whatever the interrupt is answered with."""
    shop, agent = desk.Shop(), desk.agent({})
    graph = built([{"calls": [REFUND, OTHER]}, {"text": "Paid."}], shop, agent)
    graph.invoke(HELLO, THREAD)
    agent.reviews()[0].deny()
    graph.invoke(Command(resume={"decisions": [{"type": "approve"}, {"type": "approve"}]}), THREAD)
    assert shop.ran == [["refund", {"order": "o1", "amount": 700}]]


def test_a_person_answers_in_the_place_of_a_tool() -> None:
    shop = desk.Shop()
    graph = built([{"calls": [REFUND]}, {"text": "Done."}], shop)
    graph.invoke(HELLO, THREAD)
    result = graph.invoke(Command(resume={"decisions": [{"type": "respond", "message": "It was paid yesterday."}]}), THREAD)
    assert shop.ran == []
    assert [message.text for message in result["messages"][-2:]] == ["It was paid yesterday.", "Done."]


def test_an_agent_in_a_tool_has_a_task_of_its_own() -> None:
    shop, agent = desk.Shop(), desk.agent({"limits": {"max_turns": 2}})
    inner = built([{"calls": [{"id": "c9", "function": "get_order", "arguments": {"order": "o1"}}]}, {"text": "It is open."}], shop, agent)

    def get_order(order: str) -> str:
        """Asks a colleague."""
        return str(inner.invoke(HELLO)["messages"][-1].text)

    script = [{"calls": [{"id": "c1", "function": "get_order", "arguments": {"order": "o1"}}]}, {"text": "Open."}]
    guard = celador.langchain.Middleware(agent, user="u-1")
    outer: Any = create_agent(Scripted(script=script), [StructuredTool.from_function(get_order)], middleware=[guard], checkpointer=InMemorySaver())
    result = outer.invoke(HELLO, THREAD)
    assert [message.text for message in result["messages"][-2:]] == ["It is open.", "Open."]


def test_a_message_that_comes_while_a_person_is_asked_is_not_admitted() -> None:
    shop = desk.Shop()
    graph = built([{"calls": [REFUND]}, {"text": "Paid."}], shop)
    graph.invoke(HELLO, THREAD)
    result = graph.invoke({"messages": [{"role": "user", "content": "And my other order?"}]}, THREAD)
    assert shop.ran == []
    assert result["messages"][-1].text != "Paid."


YES: dict[str, Any] = {"decisions": [{"type": "approve"}]}
NO: dict[str, Any] = {"decisions": [{"type": "reject", "message": "No."}]}


def asked(graph: Any) -> dict[float, str]:
    """The ids of the open interrupts, by the amount that each is about."""
    return {interrupt.value["action_requests"][0]["args"]["amount"]: interrupt.id for interrupt in graph.get_state(THREAD).interrupts}


def test_one_of_several_reviews_of_an_interrupt_is_answered_later() -> None:
    shop = desk.Shop()
    graph = built([{"calls": [REFUND, OTHER]}, {"text": "Paid."}], shop)
    graph.invoke(HELLO, THREAD)
    graph.invoke(Command(resume={"decisions": [None, {"type": "approve"}]}), THREAD)
    assert shop.ran == [] and list(asked(graph)) == [600]
    graph.invoke(Command(resume=YES), THREAD)
    assert sorted(amount["amount"] for _, amount in shop.ran) == [600, 700]


@pytest.mark.parametrize("first", [600, 700])
@pytest.mark.parametrize("answers", [(YES, YES), (YES, NO), (NO, YES), (NO, NO)])
@pytest.mark.parametrize("siblings", ["wait", "run"])
def test_each_review_is_an_interrupt_with_an_id(first: int, answers: Any, siblings: str) -> None:
    shop, agent = desk.Shop(), desk.agent({"reviews": {"siblings": siblings}})
    graph = built([{"calls": [{"id": "c0", "function": "get_order", "arguments": {"order": "o1"}}, REFUND, OTHER]}, {"text": "Done."}], shop, agent, interrupts="each")
    graph.invoke(HELLO, THREAD)
    assert sorted(asked(graph)) == [600, 700] and [name for name, _ in shop.ran] == ["get_order"]
    graph.invoke(Command(resume={asked(graph)[first]: answers[0]}), THREAD)
    assert list(asked(graph)) == [1300 - first]
    runs_at_once = siblings == "run" and answers[0] is YES
    assert [amount["amount"] for name, amount in shop.ran[1:]] == [first] * runs_at_once
    result = graph.invoke(Command(resume={asked(graph)[1300 - first]: answers[1]}), THREAD)
    approved = [amount for amount, answer in zip((first, 1300 - first), answers, strict=True) if answer is YES]
    assert sorted(amount["amount"] for name, amount in shop.ran[1:]) == sorted(approved)
    assert result["messages"][-1].text == "Done."
    states = {review.arguments["amount"]: review.state for review in agent.task("thread-1", "u-1").reviews(state="all") if review.arguments}
    assert states == {amount: "approved" if amount in approved else "denied" for amount in (600, 700)}


def test_interrupts_of_a_tool_follow_the_one_of_its_review() -> None:
    said: list[Any] = []

    def refund(order: str, amount: float) -> str:
        """Pays money back, to the account that somebody names."""
        said.append(interrupt("Which account?"))
        return f"{amount} to {said[-1]}"

    guard = celador.langchain.Middleware(desk.agent({}), user="u-1", interrupts="each")
    graph: Any = create_agent(Scripted(script=[{"calls": [REFUND]}, {"text": "Done."}]), [refund], middleware=[guard], checkpointer=InMemorySaver())
    graph.invoke(HELLO, THREAD)
    graph.invoke(Command(resume=YES), THREAD)
    assert [interrupt.value for interrupt in graph.get_state(THREAD).interrupts] == ["Which account?"]
    graph.invoke(Command(resume="the old one"), THREAD)
    assert said == ["the old one"]


def test_reviews_that_are_asked_again_are_one_interrupt() -> None:
    """Calls that are tried again share a task of LangGraph: an answer to one of them must not be taken for another."""
    shop = desk.Shop()
    graph = built([{"calls": [REFUND, OTHER]}, {"text": "Done."}], shop, interrupts="each")
    graph.invoke(HELLO, THREAD)
    graph.invoke({"messages": [{"role": "user", "content": "And my other order?"}]}, THREAD)
    (together,) = graph.get_state(THREAD).interrupts
    assert [action["args"]["amount"] for action in together.value["action_requests"]] == [600, 700] and shop.ran == []
    graph.invoke(Command(resume={together.id: {"decisions": [None, {"type": "approve"}]}}), THREAD)
    result = graph.invoke(Command(resume=NO), THREAD)
    assert [amount["amount"] for _, amount in shop.ran] == [700]
    assert [message.text for message in result["messages"][-2:]] == ["And my other order?", "Done."]


def test_interrupts_of_their_own_may_be_answered_at_the_agent() -> None:
    shop, agent = desk.Shop(), desk.agent({})
    graph = built([{"calls": [REFUND, OTHER]}, {"text": "Done."}], shop, agent, interrupts="each")
    graph.invoke(HELLO, THREAD)
    by_amount = {review.arguments["amount"]: review for review in agent.reviews() if review.arguments}
    by_amount[600].deny()
    # one is answered there, the other one here
    graph.invoke(Command(resume={asked(graph)[700]: YES}), THREAD)
    assert [amount["amount"] for _, amount in shop.ran] == [700]
    shop, agent = desk.Shop(), desk.agent({})
    graph = built([{"calls": [REFUND, OTHER]}, {"text": "Done."}], shop, agent, interrupts="each")
    graph.invoke(HELLO, THREAD)
    for review in agent.reviews():
        review.approve()
    assert graph.invoke(None, THREAD)["messages"][-1].text == "Done."
    assert sorted(amount["amount"] for _, amount in shop.ran) == [600, 700]


def test_an_interrupt_of_its_own_that_is_left_open_is_asked_again() -> None:
    shop = desk.Shop()
    graph = built([{"calls": [REFUND, OTHER]}, {"text": "Done."}], shop, interrupts="each")
    graph.invoke(HELLO, THREAD)
    graph.invoke(Command(resume={id: {"decisions": [None]} for id in asked(graph).values()}), THREAD)
    (together,) = graph.get_state(THREAD).interrupts
    assert shop.ran == [] and len(together.value["action_requests"]) == 2
    result = graph.invoke(Command(resume={"decisions": [YES["decisions"][0], NO["decisions"][0]]}), THREAD)
    assert [amount["amount"] for _, amount in shop.ran] == [600] and result["messages"][-1].text == "Done."


@pytest.mark.parametrize("is_async", [False, True])
def test_interrupts_of_their_own_are_answered_in_other_processes(is_async: bool, tmp_path: pathlib.Path) -> None:
    """Each answer comes in a process of its own; the call that was approved first is held until the second answer."""
    saver, shop = InMemorySaver(), desk.Shop()

    def process(given: Any) -> Any:
        guard = celador.langchain.Middleware(desk.agent({}, store=tmp_path / "celador.db"), user="u-1", interrupts="each")
        tools = [StructuredTool.from_function(tool) for tool in shop.tools]
        graph: Any = create_agent(Scripted(script=[{"calls": [REFUND, OTHER]}, {"text": "Done."}]), tools, middleware=[guard], checkpointer=saver)
        result = asyncio.run(graph.ainvoke(given(graph), THREAD)) if is_async else graph.invoke(given(graph), THREAD)
        return graph, result

    graph, _ = process(lambda _: HELLO)
    assert sorted(asked(graph)) == [600, 700]
    graph, _ = process(lambda graph: Command(resume={asked(graph)[700]: YES}))
    assert shop.ran == [] and list(asked(graph)) == [600]
    _, result = process(lambda graph: Command(resume={asked(graph)[600]: YES}))
    assert sorted(amount["amount"] for _, amount in shop.ran) == [600, 700]
    assert result["messages"][-1].text == "Done."


def test_a_decision_that_does_not_fit_an_interrupt_of_its_own_changes_nothing() -> None:
    shop = desk.Shop()
    graph = built([{"calls": [REFUND, OTHER]}, {"text": "Done."}], shop, interrupts="each")
    graph.invoke(HELLO, THREAD)
    for decisions in ([], [YES["decisions"][0]] * 2, [{"type": "edit", "edited_action": {"name": "close_order", "args": {}}}]):
        with pytest.raises(ValueError, match="calls are in review|no decision about a call"):
            graph.invoke(Command(resume={asked(graph)[600]: {"decisions": decisions}}), THREAD)
    assert shop.ran == [] and sorted(asked(graph)) == [600, 700]
