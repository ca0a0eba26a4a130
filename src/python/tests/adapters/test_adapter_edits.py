"""A history that somebody has changed after the model spoke: other arguments or another name under the id of a call, members beside a text that was judged,
a message in the middle. In the process that knows the calls, and in one that asks the task."""

from __future__ import annotations

import asyncio
import copy
import pathlib
from typing import Any

import celador.agent_hooks
import celador.langchain
import celador.openai_agents
import celador.pydantic_ai
import pytest
from agents import Agent, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from drive_langchain import Scripted
from drive_pydantic_ai import Scripted as PydanticScripted
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelRequest, ToolCallPart, UserPromptPart

import desk

CARD = "4111111111111111"
CALL: dict[str, Any] = {"id": "c1", "function": "get_order", "arguments": {"order": "o1"}}
FIRST: list[dict[str, Any]] = [{"calls": [CALL]}, {"text": "It is open."}]
THREAD: Any = {"configurable": {"thread_id": "thread-1"}}
EDITS = [{"name": "get_order", "arguments": {"order": CARD}}, {"name": f"card_{CARD}", "arguments": {"order": "o1"}}]
each = pytest.mark.parametrize("edit", EDITS)
processes = pytest.mark.parametrize("is_new_process", [False, True])


def agents(folder: pathlib.Path, is_new_process: bool) -> tuple[Any, Any]:
    first = desk.agent({}, store=folder / "celador.db")
    return first, desk.agent({}, store=folder / "celador.db") if is_new_process else first


def inputs(agent: Any) -> int:
    return int(agent.task("thread-1", "u-1").evaluate("size(c.input)"))


@each
@processes
def test_langchain(edit: dict[str, Any], is_new_process: bool, tmp_path: pathlib.Path) -> None:
    saver, tools = InMemorySaver(), [StructuredTool.from_function(tool) for tool in desk.Shop().tools]

    def built(guard: Any) -> tuple[Any, Any]:
        model = Scripted(script=[*FIRST, {"text": "Welcome."}], calls=[])
        return create_agent(model, tools, middleware=[guard], checkpointer=saver), model

    one, other = agents(tmp_path, is_new_process)
    guard = celador.langchain.Middleware(one, user="u-1")
    graph, _ = built(guard)
    messages = graph.invoke({"messages": [HumanMessage("Hello.")]}, THREAD)["messages"]
    assert inputs(one) == 1
    graph, model = built(guard if not is_new_process else celador.langchain.Middleware(other, user="u-1"))
    edited = AIMessage("", id=messages[1].id, tool_calls=[{"id": "c1", "name": edit["name"], "args": edit["arguments"]}])
    beside = HumanMessage("Hello.", id=messages[0].id, name=f"card {CARD}", additional_kwargs={"note": CARD})
    said = AIMessage("It is open.", id=messages[3].id, name=f"card {CARD}", additional_kwargs={"note": CARD})
    graph.invoke({"messages": [edited, beside, said, HumanMessage("Thanks.")]}, THREAD)
    assert CARD not in "".join(model.calls) and "get_order" in "".join(model.calls)
    assert CARD not in repr(graph.get_state(THREAD).values["messages"])


@each
@processes
def test_openai(edit: dict[str, Any], is_new_process: bool, tmp_path: pathlib.Path) -> None:
    one, other = agents(tmp_path, is_new_process)
    tools = [function_tool(tool) for tool in desk.Shop().tools]

    def guarded(agent: Any, model: Any) -> Any:
        return celador.openai_agents.guard(Agent("desk", model=model, tools=tools), agent.task("thread-1", "u-1"))

    model = ScriptedModel([[function_call("get_order", {"order": "o1"}, call_id="c1")], [assistant_message("It is open.")], [assistant_message("Welcome.")]])
    desk_of = guarded(one, model)
    items: list[Any] = asyncio.run(Runner.run(desk_of, "Hello.")).to_input_list()
    call = next(item for item in items if item.get("type") == "function_call")
    call["name"], call["arguments"] = edit["name"], str(edit["arguments"]).replace("'", '"')
    if is_new_process:
        model = ScriptedModel([[assistant_message("Welcome.")]])
        desk_of = guarded(other, model)
    items.insert(1, {"role": "user", "content": f"My card is {CARD}."})
    asyncio.run(Runner.run(desk_of, [*items, {"role": "user", "content": "Thanks."}]))
    assert CARD not in repr(model.calls[-1].input) and "It is open." in repr(model.calls[-1].input)


@each
@processes
def test_pydantic(edit: dict[str, Any], is_new_process: bool, tmp_path: pathlib.Path) -> None:
    one, other = agents(tmp_path, is_new_process)
    scripted = PydanticScripted([*FIRST, {"text": "Welcome."}])

    def built(agent: Any) -> Any:
        return PydanticAgent(scripted.model, tools=desk.Shop().tools, capabilities=[celador.pydantic_ai.Guard(agent, user="u-1")])

    first = built(one)
    history = copy.deepcopy(first.run_sync("Hello.", conversation_id="thread-1").all_messages())
    call = next(part for part in history[1].parts if isinstance(part, ToolCallPart))
    call.tool_name, call.args = edit["name"], edit["arguments"]
    history.insert(1, ModelRequest([UserPromptPart(f"My card is {CARD}.")], instructions=f"The card is {CARD}."))
    scripted.calls.clear()
    (built(other) if is_new_process else first).run_sync("Thanks.", message_history=history, conversation_id="thread-1")
    assert CARD not in "".join(scripted.calls) and "It is open." in "".join(scripted.calls)


@each
@processes
def test_hooks(edit: dict[str, Any], is_new_process: bool, tmp_path: pathlib.Path) -> None:
    one, other = agents(tmp_path, is_new_process)
    for task in [one.task("thread-1", "u-1")]:
        task.input("Hello.")
        task.turn([("c1", "get_order", {"order": "o1"})])
        task.after("c1", "open")
    interceptor = celador.agent_hooks.Interceptor(other, user="u-1")
    call = {"id": "c1", "name": edit["name"], "args": edit["arguments"]}
    messages = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "open"}]
    verdict = asyncio.run(interceptor.intercept({"session": {"id": "thread-1"}, "interception_point": "pre_model_call", "messages": messages}))
    assert CARD not in repr(verdict)
