"""Drives Google's Agent Development Kit through the scenarios."""

from __future__ import annotations

import asyncio
import json
import pathlib
from collections.abc import AsyncGenerator
from typing import Any

import celador.google_adk
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.genai import types

import desk
from desk import Outcome, Shop, ToolFailure

MODES = ("sync", "async", "stream")
LISTS_HELD = True


class Scripted(BaseLlm):
    """A model that answers with one turn of the script after the other; the turn follows from the request, so a new process goes on."""

    script: list[dict[str, Any]] = []
    calls: list[str] = []

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        self.calls.append(repr(llm_request.contents))
        parts = [part for content in llm_request.contents for part in content.parts or ()]
        asked = {part.function_call.id for part in parts if part.function_call}
        turn = self.script[sum(1 for turn in self.script if any(call["id"] in asked for call in turn.get("calls", ())))]
        answer = [types.Part(function_call=types.FunctionCall(id=c["id"], name=c["function"], args=c["arguments"])) for c in turn.get("calls", ())]
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=10, candidates_token_count=5)
        if stream and "text" in turn:
            for word in turn["text"].split(" "):
                yield LlmResponse(partial=True, content=types.ModelContent(word + " "))
        said = [types.Part(text=turn["text"])] if "text" in turn else []
        yield LlmResponse(content=types.Content(role="model", parts=[*said, *answer]), usage_metadata=usage)


class Told(BasePlugin):
    """Tells the model of tools that fail: without it that ends the run."""

    async def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: Exception) -> dict[str, Any] | None:
        return {"error": str(error)} if isinstance(error, ToolFailure) else None


class Run:
    """One run of the agent until it ends or asks, with everything new: what a fresh process would make."""

    def __init__(self, agent: Any, scenario: dict[str, Any], shop: Shop, sessions: Any) -> None:
        self.scenario = scenario
        self.model = Scripted(model="scripted", script=scenario["script"], calls=[])
        root = LlmAgent(name="desk", model=self.model, tools=[*shop.tools])
        app = App(name="desk", root_agent=root, plugins=[celador.google_adk.Plugin(agent), Told(name="told")])
        self.sessions = sessions
        self.runner = Runner(app=app, session_service=sessions, auto_create_session=True)

    def step(self, message: types.Content, mode: str, outcome: Outcome) -> list[types.FunctionCall]:
        given: dict[str, Any] = {"user_id": "u-1", "session_id": "thread-1", "new_message": message}
        if mode == "sync":
            events = list(self.runner.run(**given))
        else:
            streaming = StreamingMode.SSE if mode == "stream" else StreamingMode.NONE
            events = asyncio.run(self._run(given | {"run_config": RunConfig(streaming_mode=streaming)}))
        outcome.streamed += repr(events)
        outcome.turns += len(self.model.calls)
        outcome.prompts += "".join(self.model.calls)
        self.model.calls.clear()
        asked = []
        for event in events:
            asked += [call for call in event.get_function_calls() if call.name == "adk_request_confirmation"]
            for response in event.get_function_responses():
                outcome.seen[response.id or ""] = str(response.response)
            text = "".join(part.text or "" for part in (event.content.parts if event.content else None) or ())
            outcome.final = text or outcome.final
        return asked

    async def _run(self, given: dict[str, Any]) -> list[Any]:
        return [event async for event in self.runner.run_async(**given)]


def begin(run: Run, scenario: dict[str, Any], mode: str, outcome: Outcome) -> list[types.FunctionCall]:
    return run.step(types.UserContent(scenario.get("input", "Hello.")), mode, outcome)


def asked(confirmations: list[types.FunctionCall]) -> list[Any]:
    originals = [(call.args or {})["originalFunctionCall"] for call in confirmations]
    return [[call["name"], call["args"]] for call in originals]


def go_on(run: Run, confirmations: list[str], answers: list[Any], mode: str, outcome: Outcome) -> list[types.FunctionCall]:
    words: dict[str, Any] = {"approve": {"confirmed": True}, "deny": {"confirmed": False, "payload": {"note": "No."}}}
    words["edit"] = {"confirmed": True, "payload": {"arguments": run.scenario.get("edited")}}
    parts = [
        types.Part(function_response=types.FunctionResponse(id=id, name="adk_request_confirmation", response=words[answer]))
        for id, answer in zip(confirmations, answers, strict=True)
        if answer is not None
    ]
    return run.step(types.Content(role="user", parts=parts), mode, outcome)


def drive(agent: Any, scenario: dict[str, Any], mode: str, shop: Shop) -> Outcome:
    from google.adk.sessions import InMemorySessionService

    outcome = Outcome()
    run = Run(agent, scenario, shop, InMemorySessionService())
    waiting = begin(run, scenario, mode, outcome)
    answers = iter(scenario.get("answers", ()))
    while waiting:
        outcome.asked.append(asked(waiting))
        if outcome.before_answers is None:
            outcome.before_answers = list(shop.ran)
        if "meanwhile" in scenario and len(outcome.asked) == 1:
            assert run.step(types.UserContent(scenario["meanwhile"]), mode, outcome) == []
            assert "is kept" in (outcome.final or "")
        calls = [(call.args or {})["originalFunctionCall"]["id"] for call in waiting]
        said = desk.one_time(next(answers), calls)
        unanswered = [call for call, answer in zip(waiting, said, strict=True) if answer is None]
        waiting = go_on(run, [call.id or "" for call in waiting], said, mode, outcome)
        # what was not answered is not asked again: its confirmation stands
        asked_again = {(call.args or {})["originalFunctionCall"]["id"] for call in waiting}
        waiting += [call for call in unanswered if (call.args or {})["originalFunctionCall"]["id"] not in asked_again]
    return outcome


def leave(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> list[Any]:
    from google.adk.sessions.sqlite_session_service import SqliteSessionService

    waiting = begin(Run(agent, scenario, shop, SqliteSessionService(str(folder / "adk.db"))), scenario, "async", outcome)
    (folder / "confirmations.json").write_text(json.dumps([call.id for call in waiting]))
    return asked(waiting)


def take_up(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> None:
    from google.adk.sessions.sqlite_session_service import SqliteSessionService

    confirmations = json.loads((folder / "confirmations.json").read_text())
    go_on(Run(agent, scenario, shop, SqliteSessionService(str(folder / "adk.db"))), confirmations, scenario["answers"][0], "async", outcome)
