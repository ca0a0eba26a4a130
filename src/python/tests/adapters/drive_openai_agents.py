"""Drives the OpenAI Agents SDK through the scenarios."""

from __future__ import annotations

import asyncio
import json
import pathlib
from typing import Any

import celador.openai_agents
from agents import Agent, Runner, RunState, Usage, function_tool
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

import desk
from desk import Outcome, Shop

MODES = ("sync", "async", "stream")
LISTS_HELD = True


def scripted(scenario: dict[str, Any]) -> ScriptedModel:
    """A model that answers with one turn of the script after the other; the turn follows from the input, so a new process goes on."""

    def respond(call: ModelCall) -> ModelStep:
        items = call.input if isinstance(call.input, list) else []
        ids = {item["call_id"] for item in items if item.get("type") == "function_call"}
        turns = scenario["script"]
        at = sum(1 for turn in turns if any(c["id"] in ids for c in turn.get("calls", ())))
        turn = turns[at]
        calls = [function_call(c["function"], c["arguments"], call_id=c["id"]) for c in turn.get("calls", ())]
        output = [*([assistant_message(turn["text"])] if "text" in turn else []), *calls]
        return ModelStep(output=output, usage=Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15))

    return ScriptedModel([ModelStep.respond(respond)] * (len(scenario["script"]) + 2))


class Run:
    """One run of the agent until it ends or asks, with everything new: what a fresh process would make."""

    def __init__(self, agent: Any, scenario: dict[str, Any], shop: Shop) -> None:
        self.model = scripted(scenario)
        plain: Agent[None] = Agent("desk", model=self.model, tools=[function_tool(tool) for tool in shop.tools])
        self.agent = celador.openai_agents.guard(plain, agent.task("thread-1", "u-1"))

    def step(self, given: Any, mode: str, outcome: Outcome) -> Any:
        if mode == "sync":
            result = Runner.run_sync(self.agent, given)
        elif mode == "async":
            result = asyncio.run(Runner.run(self.agent, given))
        else:
            result = asyncio.run(self._stream(given, outcome))
        outcome.turns += len(self.model.calls)
        outcome.prompts += repr([call.input for call in self.model.calls])
        outcome.final = str(result.final_output)
        for item in result.to_input_list():
            if item.get("type") == "function_call_output":
                outcome.seen[item["call_id"]] = str(item["output"])
        return result

    async def _stream(self, given: Any, outcome: Outcome) -> Any:
        result = Runner.run_streamed(self.agent, given)
        async for event in result.stream_events():
            outcome.streamed += repr(event)
        return result


def begin(run: Run, scenario: dict[str, Any], mode: str, outcome: Outcome) -> Any:
    return run.step(scenario.get("input", "Hello."), mode, outcome)


def asked(result: Any) -> list[Any]:
    return [[item.name, json.loads(item.arguments)] for item in result.interruptions]


def go_on(run: Run, state: RunState[Any], answers: list[str], mode: str, outcome: Outcome) -> Any:
    waiting = state.get_interruptions()
    for item, answer in zip(waiting, desk.one_time(answers, [item.call_id or "" for item in waiting]), strict=True):
        if answer == "approve":
            state.approve(item)
        elif answer == "deny":
            state.reject(item, rejection_message="No.")
    return run.step(state, mode, outcome)


def drive(agent: Any, scenario: dict[str, Any], mode: str, shop: Shop) -> Outcome:
    outcome = Outcome()
    run = Run(agent, scenario, shop)
    result = begin(run, scenario, mode, outcome)
    answers = iter(scenario.get("answers", ()))
    while result.interruptions:
        outcome.asked.append(asked(result))
        if outcome.before_answers is None:
            outcome.before_answers = list(shop.ran)
        if "meanwhile" in scenario and len(outcome.asked) == 1:
            told = run.step([*result.to_input_list(), {"role": "user", "content": scenario["meanwhile"]}], mode, outcome)
            assert "is kept" in str(told.final_output)
        result = go_on(run, result.to_state(), next(answers), mode, outcome)
        outcome.turns = len(run.model.calls)
    return outcome


def leave(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> list[Any]:
    result = begin(Run(agent, scenario, shop), scenario, "async", outcome)
    (folder / "state.json").write_text(result.to_state().to_string())
    return asked(result)


def take_up(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> None:
    run = Run(agent, scenario, shop)
    state = asyncio.run(RunState.from_string(run.agent, (folder / "state.json").read_text()))
    go_on(run, state, scenario["answers"][0], "async", outcome)
