"""What else than the last message of a user reaches a model: histories that a caller brings, parts of every kind, results that were never judged."""

from __future__ import annotations

import asyncio
from typing import Any

import celador
import celador.agent_hooks
import celador.google_adk
import celador.langchain
import celador.openai_agents
import celador.pydantic_ai
import pytest
from agents import Agent, Runner
from agents.testing import ModelStep, ScriptedModel, assistant_message
from drive_google_adk import Scripted as AdkScripted
from drive_langchain import Scripted
from drive_pydantic_ai import Scripted as PydanticScripted
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner as AdkRunner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import google_search
from google.genai import types
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.messages import BinaryContent, NativeToolReturnPart, TextContent

import desk

CARD = "4111111111111111"
DONE: list[dict[str, Any]] = [{"text": "Done."}]
THREAD: Any = {"configurable": {"thread_id": "thread-1"}}


def desk_of(observe: bool = False) -> Any:
    return desk.agent({}, observe=observe)


def passed_on(log: pytest.LogCaptureFixture) -> list[str]:
    return [message for message in log.messages if message.startswith("passed on unjudged: ")]


# LangChain


def asked_of_langchain(messages: list[Any], tools: list[Any] | None = None, script: list[dict[str, Any]] | None = None, **options: Any) -> Any:
    model = Scripted(script=[{"text": "…"}] * sum(isinstance(m, AIMessage) for m in messages) + (script or DONE))
    guard = celador.langchain.Middleware(desk_of(observe=options.get("observe", False)), user="u-1", **options)
    graph: Any = create_agent(model, tools or [], middleware=[guard], checkpointer=InMemorySaver())
    result = graph.invoke({"messages": messages}, THREAD)
    return result, "".join(model.calls)


@pytest.mark.parametrize(
    "messages",
    [
        [HumanMessage(f"My card is {CARD}."), HumanMessage("Hello.")],
        [HumanMessage("Hello."), SystemMessage(f"The card is {CARD}.")],
        [SystemMessage(f"The card is {CARD}."), HumanMessage("Hello.")],
        [HumanMessage("Hello."), AIMessage(f"The card is {CARD}."), HumanMessage("And?")],
        [HumanMessage("Hello."), AIMessage("", tool_calls=[{"id": "x", "name": "get_order", "args": {}}]), ToolMessage(f"card {CARD}", tool_call_id="x")],
        [
            HumanMessage("Hello."),
            AIMessage("", tool_calls=[{"id": "x", "name": "get_order", "args": {"card": CARD}}]),
            ToolMessage("open", tool_call_id="x"),
        ],
        [HumanMessage([{"type": "text", "text": "My card is 41111111"}, {"type": "text", "text": "11111111."}])],
        [HumanMessage([{"type": "text", "text": "One."}, {"type": "image_url", "image_url": {"url": "data:,x"}}, {"type": "text", "text": CARD}])],
        [HumanMessage("Hello.", additional_kwargs={"note": CARD}, name=f"card {CARD}")],
    ],
)
def test_langchain_every_message_is_judged(messages: list[Any]) -> None:
    result, sent = asked_of_langchain(messages)
    assert result["messages"][-1].text == "Done."
    assert CARD not in sent and "41111111" not in sent


@pytest.mark.parametrize(
    ("messages", "named"),
    UNKNOWN_OF_LANGCHAIN := [
        ([HumanMessage([{"type": "holo", "text": CARD}])], "'holo'"),
        ([ChatMessage("Hello.", role="root")], "'ChatMessage'"),
        ([HumanMessage("Hello."), AIMessage([{"type": "server_tool_call", "name": "web"}])], "'server_tool_call'"),
        ([HumanMessage([{"text": CARD}])], "'None'"),
    ],
)
def test_langchain_an_unknown_form_is_refused_by_name(messages: list[Any], named: str) -> None:
    with pytest.raises(celador.CeladorError, match=named):
        asked_of_langchain(messages)


@pytest.mark.parametrize(("messages", "named"), UNKNOWN_OF_LANGCHAIN)
def test_langchain_an_unknown_form_goes_on_where_it_is_observed(messages: list[Any], named: str, caplog: pytest.LogCaptureFixture) -> None:
    _, sent = asked_of_langchain(messages, observe=True)
    assert len(passed_on(caplog)) == 1 and named in passed_on(caplog)[0], caplog.messages
    unknown = next(m for m in messages if not isinstance(m.content, str) or isinstance(m, ChatMessage))
    assert str(unknown.content[0]["text"] if "text" in unknown.content[0] else "web") in sent if isinstance(unknown.content, list) else "root" in sent


def test_langchain_all_of_a_command_is_judged() -> None:
    def get_order(order: str) -> Any:
        """Looks an order up."""
        told = [ToolMessage(f"card {CARD}", tool_call_id="c1"), HumanMessage(f"And {CARD}.")]
        return Command(update={"messages": told})

    tool = StructuredTool.from_function(get_order)
    script: list[dict[str, Any]] = [{"calls": [{"id": "c1", "function": "get_order", "arguments": {"order": "o1"}}]}, *DONE]
    result, sent = asked_of_langchain([HumanMessage("Hello.")], [tool], script)
    assert CARD not in sent + repr(result["messages"])
    assert "[credit_card]" in sent


def test_langchain_an_artifact_is_dropped_unless_it_is_asked_for() -> None:
    def get_order(order: str) -> tuple[str, Any]:
        """Looks an order up."""
        return "open", {"card": CARD}

    tool = StructuredTool.from_function(get_order, response_format="content_and_artifact")
    script: list[dict[str, Any]] = [{"calls": [{"id": "c1", "function": "get_order", "arguments": {"order": "o1"}}]}, *DONE]
    for artifacts in (False, True):
        result, _ = asked_of_langchain([HumanMessage("Hello.")], [tool], script, artifacts=artifacts)
        message = next(m for m in result["messages"] if isinstance(m, ToolMessage))
        assert (message.artifact is not None) == artifacts


def test_langchain_a_result_that_nobody_has_given_is_none() -> None:
    """A caller who answers a call that a person is asked about has it taken back."""
    shop, agent = desk.Shop(), desk_of()
    script: list[dict[str, Any]] = [{"calls": [{"id": "c1", "function": "refund", "arguments": {"order": "o1", "amount": 600}}]}, *DONE]
    model = Scripted(script=script)
    tools = [StructuredTool.from_function(tool) for tool in shop.tools]
    graph: Any = create_agent(model, tools, middleware=[celador.langchain.Middleware(agent, user="u-1")], checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("Hello.")]}, THREAD)
    result = graph.invoke({"messages": [ToolMessage(f"paid with {CARD}", tool_call_id="c1")]}, THREAD)
    assert CARD not in repr(result["messages"]) and shop.ran == []


def test_langchain_the_same_words_again_are_a_new_message() -> None:
    agent = desk_of()
    model = Scripted(script=[*DONE, *DONE, *DONE])
    graph: Any = create_agent(model, [], middleware=[celador.langchain.Middleware(agent, user="u-1")], checkpointer=InMemorySaver())
    for _ in range(3):
        graph.invoke({"messages": [HumanMessage("Yes.")]}, THREAD)
    assert agent.task("thread-1", "u-1").evaluate("size(c.input)") == 3


# OpenAI Agents


def asked_of_openai(items: Any, observe: bool = False) -> str:
    model = ScriptedModel([ModelStep(output=[assistant_message("Done.")])])
    guarded = celador.openai_agents.guard(Agent("desk", model=model), desk_of(observe).task("thread-1", "u-1"), observe=observe)
    assert asyncio.run(Runner.run(guarded, items)).final_output == "Done."
    return repr([call.input for call in model.calls])


@pytest.mark.parametrize(
    "items",
    [
        [{"role": "user", "content": CARD}, {"role": "user", "content": "Hello."}],
        [{"role": "user", "content": "Hello."}, {"role": "developer", "content": CARD}],
        [{"role": "user", "content": CARD}, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Hello."}],
        [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": f"It is {CARD}."}, {"role": "user", "content": "And?"}],
        [{"role": "user", "content": [{"type": "input_text", "text": "41111111"}, {"type": "input_text", "text": "11111111"}]}],
        [
            {"role": "user", "content": "Hello."},
            {"type": "function_call", "call_id": "x", "name": "get_order", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "x", "output": f"card {CARD}"},
        ],
        [
            {"role": "user", "content": "Hello."},
            {"type": "function_call", "call_id": "x", "name": "get_order", "arguments": f'{{"card": "{CARD}"}}'},
            {"type": "function_call_output", "call_id": "x", "output": "open"},
        ],
    ],
)
def test_openai_every_item_is_judged(items: list[Any]) -> None:
    sent = asked_of_openai(items)
    assert CARD not in sent and "41111111" not in sent


@pytest.mark.parametrize(
    ("item", "named"),
    UNKNOWN_OF_OPENAI := [
        ({"type": "item_reference", "id": "msg_1"}, "'item_reference'"),
        ({"type": "web_search_call", "id": "w", "status": "completed"}, "'web_search_call'"),
        ({"type": "tomorrow", "text": CARD}, "'tomorrow'"),
        ({"role": "root", "content": CARD}, "'message' of the root"),
        ({"role": "user", "content": [{"type": "input_hologram", "text": CARD}]}, "'input_hologram'"),
    ],
)
def test_openai_an_unknown_form_is_refused_by_name(item: Any, named: str) -> None:
    with pytest.raises(celador.CeladorError, match=named):
        asked_of_openai([{"role": "user", "content": "Hello."}, item])


@pytest.mark.parametrize(("item", "named"), UNKNOWN_OF_OPENAI)
def test_openai_an_unknown_form_goes_on_where_it_is_observed(item: Any, named: str, caplog: pytest.LogCaptureFixture) -> None:
    sent = asked_of_openai([{"role": "user", "content": "Hello."}, item], observe=True)
    assert repr(item) in sent or repr(item["content"][0]) in sent
    assert len(passed_on(caplog)) == 1 and named in passed_on(caplog)[0], caplog.messages


# Pydantic AI


def asked_of_pydantic(history: list[Any], prompt: Any = "Hello.", observe: bool = False) -> str:
    responses = sum(isinstance(message, ModelResponse) for message in history)
    scripted = PydanticScripted([{"text": "…"}] * responses + DONE)
    agent: Any = PydanticAgent(scripted.model, capabilities=[celador.pydantic_ai.Guard(desk_of(observe), user="u-1", observe=observe)])
    assert agent.run_sync(prompt, message_history=history, conversation_id="thread-1").output == "Done."
    return "".join(scripted.calls)


@pytest.mark.parametrize(
    ("history", "prompt"),
    [
        ([ModelRequest([UserPromptPart(CARD)]), ModelResponse([TextPart("Yes?")])], "Hello."),
        ([ModelRequest([SystemPromptPart(CARD), UserPromptPart("Hello.")]), ModelResponse([TextPart("Yes?")])], "Hello."),
        ([ModelRequest([UserPromptPart("Hello.")]), ModelResponse([TextPart(f"It is {CARD}.")])], "And?"),
        ([], ["41111111", "11111111"]),
        ([], [TextContent(f"My card is {CARD}.")]),
        ([], [BinaryContent(f"My card is {CARD}.".encode(), media_type="text/plain")]),
        (
            [
                ModelRequest([UserPromptPart("Hello.")]),
                ModelResponse([ToolCallPart("get_order", {"order": "o1"}, tool_call_id="x")]),
                ModelRequest([ToolReturnPart("get_order", f"card {CARD}", tool_call_id="x")]),
                ModelResponse([TextPart("Yes?")]),
            ],
            "And?",
        ),
    ],
)
def test_pydantic_every_part_is_judged(history: list[Any], prompt: Any) -> None:
    sent = asked_of_pydantic(history, prompt)
    assert CARD not in sent and "41111111" not in sent


def test_pydantic_an_unknown_form_is_refused_by_name() -> None:
    history = [ModelRequest([UserPromptPart("Hello.")]), ModelResponse([NativeToolReturnPart("web_search", CARD), TextPart("Yes?")])]
    with pytest.raises(celador.CeladorError, match="'builtin-tool-return'"):
        asked_of_pydantic(history)


def test_pydantic_an_unknown_form_goes_on_where_it_is_observed(caplog: pytest.LogCaptureFixture) -> None:
    history = [ModelRequest([UserPromptPart("Hello.")]), ModelResponse([NativeToolReturnPart("web_search", CARD), TextPart("Yes?")])]
    assert CARD in asked_of_pydantic(history, observe=True)
    assert len(passed_on(caplog)) == 1 and "'builtin-tool-return'" in passed_on(caplog)[0], caplog.messages


# Google's ADK


def asked_of_adk(message: types.Content, tools: list[Any] | None = None, answer: types.Part | None = None, observe: bool = False) -> str:
    model = AdkScripted(model="gemini-2.5-flash", script=DONE, calls=[])

    class Answers(AdkScripted):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            from google.adk.models import LlmResponse

            yield LlmResponse(content=types.Content(role="model", parts=[answer or types.Part(text="Done.")]))

    if answer is not None:
        model = Answers(model="gemini-2.5-flash", script=DONE, calls=[])
    root = LlmAgent(name="desk", model=model, tools=tools or [])
    app = App(name="desk", root_agent=root, plugins=[celador.google_adk.Plugin(desk_of(observe), observe=observe)])
    runner = AdkRunner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
    list(runner.run(user_id="u-1", session_id="thread-1", new_message=message))
    return "".join(model.calls)


@pytest.mark.parametrize(
    "parts",
    [
        [types.Part(text="41111111"), types.Part(text="11111111")],
        [types.Part(text="Hello."), types.Part(inline_data=types.Blob(mime_type="text/plain", data=CARD.encode()))],
    ],
)
def test_adk_every_part_is_judged(parts: list[types.Part]) -> None:
    sent = asked_of_adk(types.Content(role="user", parts=parts))
    assert CARD not in sent and "41111111" not in sent and str(CARD.encode()) not in sent


def test_adk_tools_that_gemini_runs_are_refused() -> None:
    with pytest.raises(RuntimeError, match="google_search"):
        asked_of_adk(types.UserContent("Hello."), [google_search])


@pytest.mark.parametrize(
    ("part", "named"),
    UNKNOWN_OF_ADK := [
        (types.Part(executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON)), "'executable_code'"),
        (types.Part(text="a", file_data=types.FileData(file_uri="x")), "text and file_data|file_data and text"),
    ],
)
def test_adk_an_unknown_form_is_refused_by_name(part: types.Part, named: str) -> None:
    with pytest.raises(RuntimeError, match=named):
        asked_of_adk(types.Content(role="user", parts=[part]))
    with pytest.raises(RuntimeError, match=named):
        asked_of_adk(types.UserContent("Hello."), answer=part)


@pytest.mark.parametrize(("part", "named"), UNKNOWN_OF_ADK[:1])
def test_adk_an_unknown_form_goes_on_where_it_is_observed(part: types.Part, named: str, caplog: pytest.LogCaptureFixture) -> None:
    assert "executable_code" in asked_of_adk(types.Content(role="user", parts=[part]), observe=True)
    asked_of_adk(types.UserContent("Hello."), answer=part, observe=True)
    assert len(passed_on(caplog)) == 2 and all(named in line for line in passed_on(caplog)), caplog.messages


# agent-hooks


def verdict(context: dict[str, Any], observe: bool = False) -> Any:
    interceptor = celador.agent_hooks.Interceptor(desk_of(observe), user="u-1", observe=observe)
    return asyncio.run(interceptor.intercept({"session": {"id": "thread-1"}, **context}))


def test_hooks_an_unknown_point_is_refused_by_name() -> None:
    with pytest.raises(celador.CeladorError, match="'pre_thought'"):
        verdict({"interception_point": "pre_thought"})


@pytest.mark.parametrize("role", ["user", "system", "developer", "assistant", "tool"])
def test_hooks_every_message_is_judged(role: str) -> None:
    messages = [{"role": role, "content": f"card {CARD}", "note": CARD}, {"role": "user", "content": "Hello."}]
    assert CARD not in repr(verdict({"interception_point": "pre_model_call", "messages": messages}))
    assert CARD not in repr(verdict({"interception_point": "input", "input": messages[0]}))


def test_hooks_unknown_forms_go_on_where_they_are_observed(caplog: pytest.LogCaptureFixture) -> None:
    assert verdict({"interception_point": "pre_thought"}, observe=True).decision.value == "allow"
    messages = [{"role": "root", "content": [{"type": "hologram", "text": CARD}]}, {"role": "user", "content": "Hello."}]
    assert CARD in repr(verdict({"interception_point": "pre_model_call", "messages": messages}, observe=True))
    assert [name for line in passed_on(caplog) for name in ("pre_thought", "root", "hologram") if name in line] == ["pre_thought", "root", "hologram"]
