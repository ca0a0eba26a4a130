"""Drives a host of agent-hooks through the scenarios: a loop around a scripted model that emits every interception point."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from typing import Any

import celador.agent_hooks
from agent_hooks import AgentContextBuilder, InterceptionBlocked, InterceptionEmitter

from desk import Outcome, Shop, ToolFailure

MODES = ("async",)
LISTS_HELD = False


class Host:
    def __init__(self, agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome) -> None:
        self.scenario, self.shop, self.outcome = scenario, shop, outcome
        self.answers = iter(scenario.get("answers", ()))
        interceptor = celador.agent_hooks.Interceptor(agent, user="u-1")
        self.emitter = InterceptionEmitter(resolver=interceptor.resolver(self.ask))
        self.emitter.register(interceptor)
        self.build = AgentContextBuilder(agent_id="desk", framework="test", session_id="thread-1")

    def ask(self, reviews: Sequence[Any]) -> list[bool]:
        self.outcome.asked.append([[review.function, review.arguments] for review in reviews])
        self.outcome.before_answers = list(self.shop.ran)
        return [answer == "approve" for answer in next(self.answers)[: len(reviews)]]

    async def run(self) -> None:
        try:
            said = await self.emitter.emit(self.build.input(content=self.scenario.get("input", "Hello.")))
            messages: list[Any] = [{"role": "user", "content": said.target["content"]}]
            for turn in self.scenario["script"]:
                await self.emitter.emit(self.build.pre_model_call(model_id="m", messages=copy.deepcopy(messages)))
                self.outcome.turns += 1
                self.outcome.prompts += repr(messages)
                calls = [{"id": c["id"], "name": c["function"], "args": c["arguments"]} for c in turn.get("calls", ())]
                usage = {"input_tokens": 10, "output_tokens": 5}
                await self.emitter.emit(
                    self.build.post_model_call(model_id="m", content=turn.get("text", ""), tool_calls=calls, finish_reason="stop", usage=usage)
                )
                if not calls:
                    self.outcome.final = (await self.emitter.emit(self.build.output(content=turn["text"]))).target["content"]
                    return
                for call in calls:
                    self.outcome.seen[call["id"]] = await self.call(call)
                    messages.append({"role": "tool", "content": self.outcome.seen[call["id"]]})
        except InterceptionBlocked as blocked:
            self.outcome.final = blocked.result.verdict.message

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
