"""Drives a host of agent-hooks through the scenarios: a loop around a scripted model that emits every interception point."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import Any

import celador.agent_hooks
from agent_hooks import AgentContextBuilder, InterceptionBlocked, InterceptionEmitter

import desk
from desk import Outcome, Shop, ToolFailure

MODES = ("async",)
LISTS_HELD = False


@dataclasses.dataclass
class Left:
    """What a host keeps of a run: enough for another process to go on."""

    messages: list[Any]
    turn: int = 0
    done: int | None = None
    """How many calls of the turn are over; nothing before the model has answered."""


class Host:
    def __init__(self, agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, left: Left | None = None) -> None:
        self.scenario, self.shop, self.outcome, self.left = scenario, shop, outcome, left
        self.answers = iter(scenario.get("answers", ()))
        interceptor = celador.agent_hooks.Interceptor(agent, user="u-1")
        self.emitter = InterceptionEmitter(resolver=interceptor.resolver(self.ask))
        self.emitter.register(interceptor)
        self.build = AgentContextBuilder(agent_id="desk", framework="test", session_id="thread-1")

    async def ask(self, reviews: Sequence[Any]) -> list[bool | None]:
        self.outcome.asked.append([[review.function, review.arguments] for review in reviews])
        if self.outcome.before_answers is None:
            self.outcome.before_answers = list(self.shop.ran)
        if "meanwhile" in self.scenario and len(self.outcome.asked) == 1:
            try:
                await self.emitter.emit(self.build.input(content=self.scenario["meanwhile"]))
            except InterceptionBlocked as blocked:
                assert "is kept" in str(blocked.result.verdict.message)
        said = desk.one_time(next(self.answers), [review.call for review in reviews])
        return [None if answer is None else answer == "approve" for answer in said]

    async def run(self) -> None:
        try:
            if self.left is None:
                said = await self.emitter.emit(self.build.input(content=self.scenario.get("input", "Hello.")))
                self.left = Left([{"role": "user", "content": said.target["content"]}])
            while self.outcome.final is None:
                await self.turn(self.left)
        except InterceptionBlocked as blocked:
            self.outcome.final = blocked.result.verdict.message

    async def turn(self, left: Left) -> None:
        turn = self.scenario["script"][left.turn]
        calls = [{"id": c["id"], "name": c["function"], "args": c["arguments"]} for c in turn.get("calls", ())]
        if left.done is None:
            sent = await self.emitter.emit(self.build.pre_model_call(model_id="m", messages=copy.deepcopy(left.messages)))
            self.outcome.turns += 1
            self.outcome.prompts += repr(sent.target)
            usage = {"input_tokens": 10, "output_tokens": 5}
            await self.emitter.emit(
                self.build.post_model_call(model_id="m", content=turn.get("text", ""), tool_calls=calls, finish_reason="stop", usage=usage)
            )
            left.done = 0
        if not calls:
            self.outcome.final = (await self.emitter.emit(self.build.output(content=turn["text"]))).target["content"]
        for call in calls[left.done :]:
            self.outcome.seen[call["id"]] = await self.call(call)
            left.messages.append({"role": "tool", "content": self.outcome.seen[call["id"]]})
            left.done += 1
        left.turn, left.done = left.turn + 1, None

    async def call(self, call: dict[str, Any]) -> str:
        named = {"call_id": call["id"], "name": call["name"]}
        try:
            allowed = await self.emitter.emit(self.build.pre_tool_call(**named, args=copy.deepcopy(call["args"])))
            try:
                value, failed = getattr(self.shop, call["name"])(**allowed.target), False
            except ToolFailure as error:
                value, failed = str(error), True
            told = await self.emitter.emit(self.build.post_tool_call(**named, args=allowed.target, value=value, is_error=failed))
            return str(told.target)
        except InterceptionBlocked as blocked:
            return str(blocked.result.verdict.message)


def drive(agent: Any, scenario: dict[str, Any], mode: str, shop: Shop) -> Outcome:
    outcome = Outcome()
    asyncio.run(Host(agent, scenario, shop, outcome).run())
    return outcome


class Ended(BaseException):
    """The process ends here: no host takes it for an answer."""


class Leaving(Host):
    """A host whose process ends while people are asked."""

    async def ask(self, reviews: Sequence[Any]) -> list[bool | None]:
        self.outcome.asked.append([[review.function, review.arguments] for review in reviews])
        raise Ended


def leave(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> list[Any]:
    host = Leaving(agent, scenario, shop, outcome)
    try:
        asyncio.run(host.run())
    except Ended:
        assert host.left is not None
        (folder / "left.json").write_text(json.dumps(dataclasses.asdict(host.left)))
    return outcome.asked[0]


def take_up(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> None:
    left = Left(**json.loads((folder / "left.json").read_text()))
    asyncio.run(Host(agent, scenario, shop, outcome, left).run())
