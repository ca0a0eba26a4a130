"""Drives LangChain through the scenarios."""

from __future__ import annotations

import asyncio
import functools
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import celador.langchain
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool, ToolException
from langgraph.types import Command

from desk import Outcome, Shop, ToolFailure

MODES = ("sync", "async", "stream", "astream")
LISTS_HELD = False


class Scripted(BaseChatModel):
    """A model that answers with one turn of the script after the other; the turn follows from the messages, so a new process goes on."""

    script: list[dict[str, Any]]
    calls: list[str] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        return self

    def _turn(self, messages: list[BaseMessage]) -> AIMessage:
        self.calls.append(json.dumps([message.model_dump(mode="json") for message in messages]))
        turn = self.script[sum(isinstance(message, AIMessage) for message in messages) - sum("It is judged once" in message.text for message in messages)]
        calls = [{"id": call["id"], "name": call["function"], "args": call["arguments"]} for call in turn.get("calls", ())]
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return AIMessage(turn.get("text", ""), tool_calls=calls, usage_metadata=usage)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._turn(messages))])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: CallbackManagerForLLMRun | None = None, **_: Any
    ) -> Iterator[ChatGenerationChunk]:
        said = self._turn(messages)
        words = said.text.split(" ") if said.text else [""]
        for at, word in enumerate(words):
            last = at == len(words) - 1
            chunks = [
                {"id": c["id"], "name": c["name"], "args": json.dumps(c["args"]), "index": i, "type": "tool_call_chunk"}
                for i, c in enumerate(said.tool_calls)
            ]
            message = AIMessageChunk(
                word + ("" if last else " "), tool_call_chunks=chunks if last else [], usage_metadata=said.usage_metadata if last else None
            )
            chunk = ChatGenerationChunk(message=message)
            if run_manager:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk


def told(tool: Any) -> Any:
    """The tool, as one whose failures LangChain tells the model of: others end the run."""

    @functools.wraps(tool)
    def run(**arguments: Any) -> Any:
        try:
            return tool(**arguments)
        except ToolFailure as error:
            raise ToolException(str(error)) from error

    return run


class Run:
    """One run of the agent until it ends or asks, with everything new: what a fresh process would make."""

    def __init__(self, agent: Any, scenario: dict[str, Any], saver: Any, shop: Shop) -> None:
        self.scenario = scenario
        self.model = Scripted(script=scenario["script"])
        tools = [StructuredTool.from_function(told(tool), handle_tool_error=True) for tool in shop.tools]
        self.graph = create_agent(self.model, tools, middleware=[celador.langchain.Middleware(agent, user="u-1")], checkpointer=saver)

    def step(self, given: Any, mode: str, outcome: Outcome) -> list[dict[str, Any]]:
        config: Any = {"configurable": {"thread_id": "thread-1"}}
        if mode == "sync":
            self.graph.invoke(given, config)
        elif mode == "async":
            asyncio.run(self.graph.ainvoke(given, config))
        elif mode == "stream":
            outcome.streamed += repr(list(self.graph.stream(given, config, stream_mode=["messages", "updates", "values"])))
        else:
            outcome.streamed += asyncio.run(self._astream(given, config))
        state = self.graph.get_state(config)
        messages = state.values["messages"]
        outcome.turns += len(self.model.calls)
        outcome.prompts += "".join(self.model.calls)
        self.model.calls.clear()
        outcome.final = messages[-1].text
        outcome.seen = {message.tool_call_id: message.text for message in messages if isinstance(message, ToolMessage)}
        return [interrupt.value for interrupt in state.interrupts]

    async def _astream(self, given: Any, config: Any) -> str:
        return repr([part async for part in self.graph.astream(given, config, stream_mode=["messages", "updates", "values"])])


def begin(run: Run, scenario: dict[str, Any], mode: str, outcome: Outcome) -> list[dict[str, Any]]:
    return run.step({"messages": [{"role": "user", "content": scenario.get("input", "Hello.")}]}, mode, outcome)


def asked(interrupts: list[dict[str, Any]]) -> list[Any]:
    """What people are asked at one time: one interrupt with all of it."""
    assert len(interrupts) == 1
    return [[action["name"], action["args"]] for action in interrupts[0]["action_requests"]]


def go_on(run: Run, asked: list[Any], answers: list[str], mode: str, outcome: Outcome) -> list[dict[str, Any]]:
    words: dict[str, Any] = {"approve": {"type": "approve"}, "deny": {"type": "reject", "message": "No."}}
    words["edit"] = {"type": "edit", "edited_action": {"name": "refund", "args": run.scenario.get("edited")}}
    return run.step(Command(resume={"decisions": [words[answer] for answer in answers[: len(asked)]]}), mode, outcome)


def answered_elsewhere(agent: Any, answers: dict[str, str]) -> None:
    """An interrupt of LangGraph is answered as a whole: who answers one review of several does so at the agent."""
    for review in agent.reviews():
        if answers.get(review.call) == "approve":
            review.approve()
        elif answers.get(review.call) == "deny":
            review.deny(note="No.")


def drive(agent: Any, scenario: dict[str, Any], mode: str, shop: Shop) -> Outcome:
    from langgraph.checkpoint.memory import InMemorySaver

    saver, outcome = InMemorySaver(), Outcome()
    run = Run(agent, scenario, saver, shop)
    waiting = begin(run, scenario, mode, outcome)
    answers = iter(scenario.get("answers", ()))
    while waiting:
        outcome.asked.append(asked(waiting))
        if outcome.before_answers is None:
            outcome.before_answers = list(shop.ran)
        if "meanwhile" in scenario and len(outcome.asked) == 1:
            again = run.step({"messages": [{"role": "user", "content": scenario["meanwhile"]}]}, mode, outcome)
            assert asked(again) == outcome.asked[-1], "the question stands"
        now = next(answers)
        if isinstance(now, dict):
            answered_elsewhere(agent, now)
            waiting = run.step(None, mode, outcome)
        else:
            waiting = go_on(run, outcome.asked[-1], now, mode, outcome)
    return outcome


def leave(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> list[Any]:
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(str(folder / "langgraph.db")) as saver:
        return asked(begin(Run(agent, scenario, saver, shop), scenario, "sync", outcome))


def take_up(agent: Any, scenario: dict[str, Any], shop: Shop, outcome: Outcome, folder: pathlib.Path) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(str(folder / "langgraph.db")) as saver:
        go_on(Run(agent, scenario, saver, shop), scenario["asked"][0], scenario["answers"][0], "sync", outcome)
