"""Drives Pydantic AI through the scenarios."""

from __future__ import annotations

import asyncio
import json
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import celador.pydantic_ai
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, Tool, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

import desk
from desk import Outcome, Shop, ToolFailure

MODES = ("sync", "async", "stream")
LISTS_HELD = True


class Scripted:
    """A model that answers with one turn of the script after the other; the turn follows from the messages, so a new process goes on."""

    def __init__(self, script: list[dict[str, Any]]) -> None:
        self.script = script
        self.calls: list[str] = []
        self.model = FunctionModel(self.answer, stream_function=self.stream)

    def turn(self, messages: list[ModelMessage]) -> dict[str, Any]:
        self.calls.append(repr(messages))
        return self.script[sum(isinstance(message, ModelResponse) for message in messages)]

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = self.turn(messages)
        calls = [ToolCallPart(c["function"], c["arguments"], tool_call_id=c["id"]) for c in turn.get("calls", ())]
        return ModelResponse([*([TextPart(turn["text"])] if "text" in turn else []), *calls], usage=RequestUsage(input_tokens=10, output_tokens=5))

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        turn = self.turn(messages)
        for at, call in enumerate(turn.get("calls", ())):
            yield {at: DeltaToolCall(call["function"], json.dumps(call["arguments"]), tool_call_id=call["id"])}
        for word in turn["text"].split(" ") if "text" in turn else ():
            yield word + " "


class Run:
    """One run of the agent until it ends or asks, with everything new: what a fresh process would make."""

    def __init__(self, agent: Any, scenario: dict[str, Any], shop: Shop) -> None:
        self.scenario = scenario
        self.scripted = Scripted(scenario["script"])
        tools = [Tool(told(tool), name=tool.__name__) for tool in shop.tools]
        guard = celador.pydantic_ai.Guard(agent, user="u-1")
        self.agent = Agent(self.scripted.model, tools=tools, capabilities=[guard], output_type=[str, DeferredToolRequests])

    def step(self, mode: str, outcome: Outcome, prompt: str | None, **given: Any) -> Any:
        given["conversation_id"] = "thread-1"
        if mode == "sync":
            result = self.agent.run_sync(prompt, **given)
        elif mode == "async":
            result = asyncio.run(self.agent.run(prompt, **given))
        else:
            result = asyncio.run(self._stream(outcome, prompt, given))
        outcome.turns += len(self.scripted.calls)
        outcome.prompts += "".join(self.scripted.calls)
        self.scripted.calls.clear()
        outcome.final = result.output if isinstance(result.output, str) else None
        for message in result.all_messages():
            for part in message.parts:
                if isinstance(part, (ToolReturnPart, RetryPromptPart)) and part.tool_call_id:
                    outcome.seen[part.tool_call_id] = str(part.content)
        return result

    async def _stream(self, outcome: Outcome, prompt: str | None, given: dict[str, Any]) -> Any:
        async def follow(_: Any, events: Any) -> None:
            async for event in events:
                outcome.streamed += repr(event)

        return await self.agent.run(prompt, event_stream_handler=follow, **given)


def told(tool: Any) -> Any:
    """The tool, as one whose failures Pydantic AI tells the model of: others end the run."""
    import functools

    @functools.wraps(tool)
    def run(**arguments: Any) -> Any:
        try:
            return tool(**arguments)
        except ToolFailure as error:
            raise ModelRetry(str(error)) from error

    return run


def begin(run: Run, scenario: dict[str, Any], mode: str, outcome: Outcome) -> Any:
    return run.step(mode, outcome, scenario.get("input", "Hello."))


def asked(result: Any) -> list[Any]:
    return [[call.tool_name, call.args_as_dict()] for call in result.output.approvals]


def go_on(run: Run, messages: bytes, approvals: list[str], answers: list[str], mode: str, outcome: Outcome) -> Any:
    words: dict[str, Any] = {"approve": True, "deny": ToolDenied("No."), "edit": ToolApproved(override_args=run.scenario.get("edited"))}
    said = zip(approvals, desk.one_time(answers, approvals), strict=True)
    results = DeferredToolResults(approvals={call: words[answer] for call, answer in said if answer is not None})
    return run.step(mode, outcome, None, message_history=ModelMessagesTypeAdapter.validate_json(messages), deferred_tool_results=results)


def drive(agent: Any, scenario: dict[str, Any], mode: str, shop: Shop) -> Outcome:
    outcome = Outcome()
    run = Run(agent, scenario, shop)
    result = begin(run, scenario, mode, outcome)
    answers = iter(scenario.get("answers", ()))
    while isinstance(result.output, DeferredToolRequests):
        outcome.asked.append(asked(result))
        if outcome.before_answers is None:
            outcome.before_answers = list(shop.ran)
        if "meanwhile" in scenario and len(outcome.asked) == 1:
            history = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
            result = run.step(mode, outcome, scenario["meanwhile"], message_history=history)
            assert asked(result) == outcome.asked[-1], "the question stands"
        calls = [call.tool_call_id for call in result.output.approvals]
        result = go_on(run, result.all_messages_json(), calls, next(answers), mode, outcome)
    return outcome


def leave(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> list[Any]:
    result = begin(Run(agent, scenario, shop), scenario, "async", outcome)
    (folder / "messages.json").write_bytes(result.all_messages_json())
    (folder / "approvals.json").write_text(json.dumps([call.tool_call_id for call in result.output.approvals]))
    return asked(result)


def take_up(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> None:
    approvals = json.loads((folder / "approvals.json").read_text())
    go_on(Run(agent, scenario, shop), (folder / "messages.json").read_bytes(), approvals, scenario["answers"][0], "async", outcome)
