"""Celador for LangChain: a middleware of `create_agent`.

    create_agent(model, tools, middleware=[celador.langchain.Middleware(agent)], checkpointer=saver)

It is the last of several middlewares, so that none of them changes what it has judged. What the user says, each turn of the model with all of its
calls, each result and the final response pass the policies. Reviews are interrupts of LangGraph in the form of its `HumanInTheLoopMiddleware`: all
that are open at once are one interrupt, `Command(resume={"decisions": […]})` answers them in order, and the calls beside them that need no
review have run by then. The task has the id of the thread.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt
from pydantic import AfterValidator
from typing_extensions import NotRequired

from celador._turns import REFUSED, Ask, Conversation, Given, Hold, Obligations, Run, Tasks, Tell, Whom, as_json, as_text, for_user

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from celador import Agent, Review, Tool

_NO_STREAM = "nostream"
"""The tag by which LangGraph keeps what a model says out of the stream of messages."""


class State(AgentState[Any]):
    """What the middleware keeps with the thread."""

    celador_task: NotRequired[Annotated[str, PrivateStateAttr]]
    celador_answered: NotRequired[Annotated[list[str], PrivateStateAttr]]


class Middleware(AgentMiddleware[State, Any, Any]):
    """Holds an agent of LangChain to the policies of an agent of Celador."""

    state_schema = State

    def __init__(self, agent: Agent, *, user: Whom = None, obligations: Obligations | None = None, stream: bool = False) -> None:
        """`user` says for whom the task runs: a user, or a function of the `Runtime`.

        `obligations` are functions for the obligations of policies, by their ids; a call with another one does not run.

        The tokens of the model are kept out of the stream, as the response is judged as a whole and a stream cannot be called back. `stream`
        lets them out as they come, for agents without a rule about responses."""
        super().__init__()
        self.tools: list[BaseTool] = []
        self._tasks = Tasks(agent, user, obligations)
        self._stream = stream

    # Inputs

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        task = _thread() or state.get("celador_task") or str(uuid.uuid4())
        update: dict[str, Any] = {"celador_task": task, "celador_answered": []}
        said = state["messages"][-1] if state["messages"] else None
        if not isinstance(said, HumanMessage):
            return update
        conversation = self._tasks.of(task, runtime)
        decision = conversation.input(said.text)
        if not decision.allowed:
            refused = said.model_copy(update={"content": REFUSED})
            return {**update, "messages": [refused, AIMessage(for_user(decision))], "jump_to": "end"}
        if decision.text is not None and decision.text != said.text:
            return {**update, "messages": [said.model_copy(update={"content": decision.text})]}
        return update

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    # Turns of the model

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> ModelResponse[Any]:
        conversation = self._of(request.state, request.runtime)
        limits = conversation.task.limits()
        if not limits.allowed:
            return ModelResponse([AIMessage(for_user(limits))])
        return self._judged(conversation, handler(self._quiet(request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        conversation = await self._find(request.state, request.runtime)
        limits = await conversation.off_loop(conversation.task.limits)
        if not limits.allowed:
            return ModelResponse([AIMessage(for_user(limits))])
        response = await handler(self._quiet(request))
        return await conversation.off_loop(self._judged, conversation, response)

    def _quiet(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if self._stream:
            return request
        model = request.model
        return request.override(model=model.model_copy(update={"tags": [*(model.tags or []), _NO_STREAM]}))

    def _judged(self, conversation: Conversation, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Judges here what the model has said, inside of the node that calls it: what a later hook takes back has left the graph already."""
        said = next((message for message in reversed(response.result) if isinstance(message, AIMessage)), None)
        if said is None:
            return response
        answered = {message.tool_call_id for message in response.result if isinstance(message, ToolMessage)}
        calls = [(_id(call), call["name"], call["args"]) for call in said.tool_calls if call["id"] not in answered]
        usage = said.usage_metadata
        ended = conversation.turn(calls, usage["input_tokens"] if usage else 0, usage["output_tokens"] if usage else 0)
        if ended is not None:
            return ModelResponse([AIMessage(for_user(ended))])
        if calls:
            return response
        structured = response.structured_response
        text = said.text if structured is None else as_text(as_json(structured))
        decision = conversation.output(text)
        if decision.allowed and (decision.text is None or decision.text == text):
            return response
        if decision.allowed and structured is None:
            changed = said.model_copy(update={"content": decision.text})
            return ModelResponse([changed if message is said else message for message in response.result])
        return ModelResponse([AIMessage(for_user(decision))])

    # Calls

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        call = request.tool_call
        conversation = self._of(request.state, request.runtime)
        if _is_answered(request.state, call):
            return Command()
        step = conversation.call(_id(call), call["name"], call["args"])
        if not isinstance(step, Run):
            return _without(call, step)
        step.begin()
        try:
            result = handler(_with(request, step))
        except GraphBubbleUp:
            raise  # an interrupt of the tool's own: the call goes on when it is answered
        except Exception as error:
            conversation.result(_id(call), type(error).__name__, failed=True)
            raise
        except BaseException:
            conversation.cancelled(_id(call))
            raise
        return self._reported(conversation, call, result)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        call = request.tool_call
        conversation = await self._find(request.state, request.runtime)
        if _is_answered(request.state, call):
            return Command()
        step = await conversation.off_loop(conversation.call, _id(call), call["name"], call["args"])
        if not isinstance(step, Run):
            return _without(call, step)
        await conversation.begin(step)
        try:
            result = await handler(_with(request, step))
        except GraphBubbleUp:
            raise
        except Exception as error:
            await conversation.off_loop(conversation.result, _id(call), type(error).__name__, failed=True)
            raise
        except BaseException:
            conversation.cancelled(_id(call))
            raise
        return await conversation.off_loop(self._reported, conversation, call, result)

    def _reported(self, conversation: Conversation, call: ToolCall, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        message = _message_of(result, call)
        given = conversation.result(_id(call), message.content if message else None, failed=message is not None and message.status == "error")
        if not isinstance(given, Given):
            return _without(call, given)
        if message is not None and given.changed:
            message.content = as_text(given.value)
            message.artifact = None
        return result

    # Reviews

    @hook_config(can_jump_to=["tools"])
    def before_model(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Comes to the calls of the turn that have no answer yet: asks for the reviews among them, all at once, and has the calls tried again."""
        waiting = _waiting(state["messages"])
        if not waiting:
            return None
        conversation = self._of(state, runtime)
        done = set(state.get("celador_answered") or ())
        asked = _latest(conversation.task.reviews(state="all"), waiting, done)
        if not any(review.state == "open" for review in asked):
            conversation.withdraw_stuck(waiting)
            return {"jump_to": "tools"}
        # Reviews that somebody else has closed meanwhile stay in the list, so that it is the same list when the node runs again with the answers.
        # LangGraph holds an answer to the schema before it keeps it, so that one which does not fit may be given again.
        answers = interrupt(_request(asked), response_schema=cast("type[dict[str, Any]]", Annotated[dict[str, Any], AfterValidator(_fitting(asked))]))
        for review, decision in zip(asked, answers["decisions"], strict=True):
            _answer(conversation, review, decision)
        return {"celador_answered": [*done, *(review.id for review in asked)], "jump_to": "tools"}

    @hook_config(can_jump_to=["tools"])
    async def abefore_model(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        if not _waiting(state["messages"]):
            return None
        return await asyncio.to_thread(self.before_model, state, runtime)

    @hook_config(can_jump_to=["tools"])
    def after_agent(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Tools whose result ends the run (`return_direct`) come here with calls that wait."""
        return self.before_model(state, runtime)

    @hook_config(can_jump_to=["tools"])
    async def aafter_agent(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return await self.abefore_model(state, runtime)

    def _of(self, state: Any, runtime: Any) -> Conversation:
        return self._tasks.of(state["celador_task"], runtime)

    async def _find(self, state: Any, runtime: Any) -> Conversation:
        return await self._tasks.find(state["celador_task"], runtime)


def tools(tools: Iterable[BaseTool]) -> list[Tool]:
    """Tools of LangChain as `celador.agent_for` takes them."""
    return [{"name": tool.name, "description": tool.description, "inputSchema": _schema(tool)} for tool in tools]


def _schema(tool: BaseTool) -> dict[str, Any]:
    schema: Any = tool.tool_call_schema
    return cast("dict[str, Any]", schema if isinstance(schema, dict) else schema.model_json_schema())


def _thread() -> str | None:
    """The id of the thread. An agent inside of another graph, such as in one of its tools, has a task of its own."""
    configured = get_config().get("configurable", {})
    thread, within = configured.get("thread_id"), str(configured.get("checkpoint_ns", "")).rpartition("|")[0]
    if thread is None:
        return None
    return f"{thread}/{within}" if within else str(thread)


def _id(call: ToolCall) -> str:
    id = call["id"]
    if not id:
        raise ValueError(f"the model gave its call of {call['name']} no id")
    return id


def _with(request: ToolCallRequest, step: Run) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": step.arguments})


def _without(call: ToolCall, step: Tell | Ask | Hold) -> ToolMessage | Command[Any]:
    """What stands in the place of a result. A call that waits has no answer yet: `before_model` finds it by that."""
    if isinstance(step, Tell):
        return ToolMessage(step.text, name=call["name"], tool_call_id=_id(call), status="error" if step.failed else "success")
    return Command()


def _message_of(result: ToolMessage | Command[Any], call: ToolCall) -> ToolMessage | None:
    if isinstance(result, ToolMessage):
        return result
    update = result.update if isinstance(result.update, dict) else {}
    return next((m for m in update.get("messages", ()) if isinstance(m, ToolMessage) and m.tool_call_id == call["id"]), None)


def _turn(messages: list[AnyMessage]) -> tuple[list[ToolCall], set[str]]:
    """The calls of the last turn, and the ids of those that have an answer."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return message.tool_calls, answered
        else:
            break
    return [], answered


def _waiting(messages: list[AnyMessage]) -> list[str]:
    calls, answered = _turn(messages)
    return [id for call in calls if (id := call["id"]) and id not in answered]


def _is_answered(state: Any, call: ToolCall) -> bool:
    return call["id"] in _turn(state["messages"])[1]


def _latest(reviews: Iterable[Review], calls: list[str], done: set[str]) -> list[Review]:
    """The last review of each call that this thread has not been asked for, in the order of the calls."""
    by_call = {review.call: review for review in reviews if review.call in calls and review.id not in done}
    return [by_call[call] for call in calls if call in by_call]


def _request(reviews: list[Review]) -> dict[str, Any]:
    """The interrupt, in the form of `HumanInTheLoopMiddleware`."""
    return {
        "action_requests": [
            {"name": review.function, "args": review.arguments or {}, "description": review.text or f"{review.reviewer} is asked"}
            for review in reviews
        ],
        "review_configs": [{"action_name": review.function, "allowed_decisions": ["approve", "edit", "reject", "respond"]} for review in reviews],
    }


def _fitting(asked: list[Review]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def check(answers: dict[str, Any]) -> dict[str, Any]:
        decisions = answers.get("decisions")
        if not isinstance(decisions, list) or len(decisions) != len(asked):
            raise ValueError(f"{len(asked)} calls are in review: `decisions` has one for each")
        for review, decision in zip(asked, decisions, strict=True):
            match decision:
                case {"type": "approve" | "reject"} | {"type": "respond", "message": _}:
                    pass
                case {"type": "edit", "edited_action": {"name": review.function, "args": dict()}}:
                    pass
                case _:
                    raise ValueError(f"no decision about a call of {review.function}: approve, edit (the arguments alone), reject or respond")
        return answers

    return check


def _answer(conversation: Conversation, review: Review, decision: dict[str, Any]) -> None:
    match decision["type"]:
        case "approve":
            conversation.answer(review, "approve")
        case "edit":
            conversation.answer(review, "edit", arguments=decision["edited_action"]["args"])
        case "respond":
            conversation.answer(review, "respond", result=decision["message"])
        case _:
            conversation.answer(review, "deny", note=decision.get("message"))


__all__ = ["Middleware", "State", "tools"]
