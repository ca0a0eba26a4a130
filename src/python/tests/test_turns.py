"""Calls of a turn that a framework starts at once, where the task is asked on another thread: what happens between a question and its answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import celador
from celador._steps import Hold, Run
from celador._turns import Conversation

REFUND: dict[str, Any] = {"order_id": "o1", "amount": 5}
OBLIGATIONS: dict[str, Any] = {"tell-risk": lambda values: None}


class Slow:
    """A task at a place that takes a while to answer: whatever it says of one call comes when `answers` is set."""

    place = "server"

    def __init__(self, task: celador.Task, call: str) -> None:
        self._task = task
        self._call = call
        self.asked = threading.Event()
        self.answers = threading.Event()

    def before(self, function: str, arguments: Mapping[str, Any], *, id: str) -> celador.Decision:
        decision = self._task.before(function, arguments, id=id)
        if id == self._call:
            self.asked.set()
            assert self.answers.wait(30)
        return decision

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)


def conversation(agent: celador.Agent, slow: str) -> tuple[Conversation, Slow]:
    task = Slow(agent.task("thread-1", user="u-1"), slow)
    return Conversation(task, OBLIGATIONS), task  # type: ignore[arg-type]


async def until(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 30)


def test_a_call_goes_on_though_the_one_ahead_ends_while_the_answer_is_on_its_way(agent: celador.Agent) -> None:
    async def run() -> None:
        turn, task = conversation(agent, slow="c2")
        turn.turn([("c1", "get_order", {"order_id": "o1"}), ("c2", "refund", REFUND)], 0, 0)
        waiting = asyncio.create_task(turn.call_when_free("c2", "refund", REFUND))
        await until(task.asked)
        # what the task has said is true no more when it is heard
        await asyncio.to_thread(turn.last_result, "c1", {"total": 10})
        task.answers.set()
        assert isinstance(await waiting, Run)

    asyncio.run(run())


def test_a_call_goes_on_though_the_one_ahead_is_let_through_and_ends_in_between(agent: celador.Agent) -> None:
    async def run() -> None:
        turn, task = conversation(agent, slow="c2")
        turn.turn([("c1", "get_order", {"order_id": "o1"}), ("c2", "refund", REFUND)], 0, 0)
        # as in a new process, to which nobody has told of the turn
        turn = Conversation(turn.task, OBLIGATIONS)
        waiting = asyncio.create_task(turn.call_when_free("c2", "refund", REFUND))
        await until(task.asked)
        assert isinstance(await turn.call_when_free("c1", "get_order", {"order_id": "o1"}), Run)
        await turn.result_and_wake("c1", {"total": 10})
        task.answers.set()
        assert isinstance(await waiting, Run)

    asyncio.run(run())


def test_a_call_waits_while_the_one_ahead_is_being_asked_about(agent: celador.Agent) -> None:
    async def run() -> None:
        turn, task = conversation(agent, slow="c1")
        turn.turn([("c1", "get_order", {"order_id": "o1"}), ("c2", "refund", REFUND)], 0, 0)
        turn = Conversation(turn.task, OBLIGATIONS)
        ahead = asyncio.create_task(turn.call_when_free("c1", "get_order", {"order_id": "o1"}))
        await until(task.asked)
        waiting = asyncio.create_task(turn.call_when_free("c2", "refund", REFUND))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        task.answers.set()
        assert isinstance(await ahead, Run)
        await turn.result_and_wake("c1", {"total": 10})
        assert isinstance(await waiting, Run)

    asyncio.run(run())


def test_a_call_is_held_where_nothing_that_it_waits_for_is_under_way_here(agent: celador.Agent) -> None:
    async def run() -> None:
        turn, _ = conversation(agent, slow="none")
        calls: list[tuple[str, str, dict[str, Any]]] = [("c1", "get_order", {"order_id": "o1"}), ("c2", "refund", REFUND), ("c3", "refund", REFUND)]
        turn.turn(calls, 0, 0)
        # c1 was let through elsewhere, and nobody tells of it here: two that wait for it do not wait for each other
        turn = Conversation(turn.task, OBLIGATIONS)
        held = await asyncio.gather(*(turn.call_when_free(id, function, arguments) for id, function, arguments in calls[1:]))
        assert [type(step) for step in held] == [Hold, Hold]

    asyncio.run(run())
