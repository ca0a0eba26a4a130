"""Celador for LangChain: a middleware of `create_agent`.

    create_agent(model, tools, middleware=[celador.langchain.Middleware(agent)], checkpointer=saver)

It is the last of several middlewares, so that none of them changes what it has judged. Every message that the model reads, each turn of the model with
its texts and all of its calls, and each result pass the policies; `FORMS` has the messages and parts that are known. Reviews are interrupts of LangGraph in the form of its `HumanInTheLoopMiddleware`: all
that are open at once are one interrupt, `Command(resume={"decisions": […]})` answers them in order (`None` leaves one open), and the calls beside them that need no
review have run by then. A message that comes meanwhile is kept, and joins the thread once they are answered. The task has the id of the thread.
"""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from typing_extensions import NotRequired

from celador._langchain_messages import FORMS, id_of, rewritten, said, sender, text_of
from celador._langchain_results import Result
from celador._langchain_reviews import answered, ask, is_alone, latest, pass_on
from celador._messages import Piece, as_json, as_text, refuse
from celador._steps import KEPT, REFUSED, Admitted, Ask, Given, Hold, Kept, Obligations, Run, Stopped, Tell, Whom, for_user
from celador._turns import Conversation, Tasks

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from celador import Agent, Tool

_NO_STREAM = "nostream"
"""The tag by which LangGraph keeps what a model says out of the stream of messages."""


class State(AgentState[Any]):
    """What the middleware keeps with the thread."""

    celador_task: NotRequired[Annotated[str, PrivateStateAttr]]
    celador_answered: NotRequired[Annotated[list[str], PrivateStateAttr]]
    celador_kept: NotRequired[Annotated[list[dict[str, Any]], PrivateStateAttr]]
    """Messages that are judged later: `id` in the task, and the `message`."""


class Middleware(AgentMiddleware[State, Any, Any]):
    """Holds an agent of LangChain to the policies of an agent of Celador."""

    state_schema = State

    def __init__(
        self,
        agent: Agent,
        *,
        user: Whom = None,
        obligations: Obligations | None = None,
        stream: bool = False,
        artifacts: bool = False,
        interrupts: Literal["together", "each"] = "together",
        observe: bool = False,
    ) -> None:
        """`user` says for whom the task runs: a user, or a function of the `Runtime`.

        `obligations` are functions for the obligations of policies, by their ids; a call with another one does not run.

        The tokens of the model are kept out of the stream, as the response is judged as a whole and a stream cannot be called back. `stream`
        lets them out as they come, for agents without a rule about responses. No rule reads the artifact of a result, so it is dropped; `artifacts`
        passes it on. `interrupts` says whether all open reviews are one interrupt, or each is one of its call's own, to be answered by its id
        (`Command(resume={id: {"decisions": […]}})`); what is asked again later is one interrupt. `observe` passes forms of messages 
        that no rule can read on, and logs them as unjudged, for agents that observe."""
        super().__init__()
        self.tools: list[BaseTool] = []
        self._tasks = Tasks(agent, user, obligations, observe=observe)
        self._stream = stream
        self._artifacts = artifacts
        self._each = interrupts == "each"

    # Inputs

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        task = _thread() or state.get("celador_task") or str(uuid.uuid4())
        update: dict[str, Any] = {"celador_task": task, "celador_answered": []}
        conversation = self._tasks.of(task, runtime)
        messages = state["messages"]
        waiting = _waiting(messages)
        looked = conversation.step(_admitted, conversation, messages, _end_of_turn(messages) if waiting else len(messages))
        kept = [*(state.get("celador_kept") or ()), *looked.kept]
        update |= {"celador_kept": kept, "messages": looked.update}
        if waiting:
            return update  # `before_model` asks for their reviews again
        return {**update, **_ended(conversation, looked.update, looked.stopped or (Stopped(KEPT) if looked.kept else None))}

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    # Turns of the model

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> ModelResponse[Any]:
        conversation = self._of(request.state, request.runtime)
        asked = conversation.step(self._asked, conversation, request)
        return asked if isinstance(asked, ModelResponse) else conversation.step(self._judged, conversation, handler(asked))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        conversation = await self._find(request.state, request.runtime)
        asked = await conversation.off_loop(self._asked, conversation, request)
        if isinstance(asked, ModelResponse):
            return asked
        response = await handler(asked)
        return await conversation.off_loop(self._judged, conversation, response)

    def _asked(self, conversation: Conversation, request: ModelRequest[Any]) -> ModelRequest[Any] | ModelResponse[Any]:
        """The request as it may be sent. Messages that another middleware, or a node of the graph, has put into it are judged here."""
        hosted = [str(tool.get("type")) for tool in request.tools if isinstance(tool, dict) and tool.get("type") != "function"]
        if hosted:
            refuse(f"nobody can hold these tools to a policy, as the vendor runs them: {', '.join(hosted)}")
        looked = _admitted(conversation, request.messages, len(request.messages))
        if looked.stopped or looked.kept:
            return _says(conversation, looked.stopped.text if looked.stopped else KEPT)
        limits = conversation.task.limits()
        if not limits.allowed:
            return _says(conversation, for_user(limits))
        return self._quiet(request.override(messages=looked.messages))

    def _quiet(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if self._stream:
            return request
        model = request.model
        return request.override(model=model.model_copy(update={"tags": [*(model.tags or []), _NO_STREAM]}))

    def _judged(self, conversation: Conversation, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Judges here what the model has said, inside of the node that calls it: what a later hook takes back has left the graph already."""
        spoken = [message for message in response.result if isinstance(message, AIMessage)]
        answers = {message.tool_call_id: message for message in response.result if isinstance(message, ToolMessage)}
        if len(spoken) != 1 or len(answers) + 1 != len(response.result):
            refuse("a turn of the model is one message, with what LangChain has answered itself")
            return response
        message = spoken[0]
        calls = [(id_of(call), call["name"], call["args"]) for call in message.tool_calls if call["id"] not in answers]
        usage = message.usage_metadata
        used = (usage["input_tokens"] if usage else 0, usage["output_tokens"] if usage else 0)
        pieces, structured = said(message), response.structured_response
        if structured is not None:
            pieces.append(Piece("structured", as_text(as_json(structured))))
        # a turn that is beyond a limit says nothing; calls are reported behind the texts beside them, as a response does not go by open calls
        ended = None if calls else conversation.turn([], *used)
        decided = conversation.response(pieces) if ended is None else Stopped(for_user(ended))
        if calls:
            ended = conversation.turn([] if isinstance(decided, Stopped) else calls, *used)
            decided = decided if ended is None else Stopped(for_user(ended))
        if isinstance(decided, Stopped):
            return _says(conversation, decided.text)
        if structured is not None and pieces[-1] not in decided.pieces:
            return _says(conversation, "The response is withheld: a policy rewrites it, and it has a type.")
        for id, answer in answers.items():
            conversation.own_result(id, text_of(answer))
        new = rewritten(message, [piece for piece in decided.pieces if piece.kind != "structured"])
        return dataclasses.replace(response, result=[new if other is message else other for other in response.result])

    # Calls

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        call = request.tool_call
        conversation = self._of(request.state, request.runtime)
        if _is_answered(request.state, call):
            return Command()
        step = conversation.call(id_of(call), call["name"], call["args"])
        if self._each and is_alone():
            step = answered(conversation, call, step)
        step = conversation.claim(id_of(call), step)
        if not isinstance(step, Run):
            return _without(call, step)
        try:
            result = handler(_with(request, step))
        except GraphBubbleUp:
            conversation.release(id_of(call), step.claimant)
            raise  # an interrupt of the tool's own: the tool runs again from its beginning when it is answered, in whichever process
        except Exception as error:
            conversation.result(id_of(call), type(error).__name__, failed=True)
            raise
        except BaseException:
            conversation.cancelled(id_of(call))
            raise
        return conversation.step(self._reported, conversation, call, result)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        call = request.tool_call
        conversation = await self._find(request.state, request.runtime)
        if _is_answered(request.state, call):
            return Command()
        step = await conversation.off_loop(conversation.call, id_of(call), call["name"], call["args"])
        if self._each and is_alone():
            step = await conversation.off_loop(answered, conversation, call, step)
        step = await conversation.claim_on_loop(id_of(call), step)
        if not isinstance(step, Run):
            return _without(call, step)
        try:
            result = await handler(_with(request, step))
        except GraphBubbleUp:
            await conversation.off_loop(conversation.release, id_of(call), step.claimant)
            raise
        except Exception as error:
            await conversation.off_loop(conversation.result, id_of(call), type(error).__name__, failed=True)
            raise
        except BaseException:
            conversation.cancelled(id_of(call))
            raise
        return await conversation.off_loop(self._reported, conversation, call, result)

    def _reported(self, conversation: Conversation, call: ToolCall, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        """The result anew, from what was decided of it. A `Command` is one result, with all of its messages and what it writes into the state."""
        parts = Result.of(result, call)
        given = conversation.result(id_of(call), parts.output(), failed=parts.failed)
        return parts.anew(given.told, self._artifacts) if isinstance(given, Given) else _without(call, given)

    # Reviews

    @hook_config(can_jump_to=["tools", "end"])
    def before_model(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Comes to the calls of the turn that have no answer yet: asks for the reviews among them, all at once, and has the calls tried again."""
        waiting = _waiting(state["messages"])
        conversation = self._of(state, runtime)
        if not waiting:
            return conversation.step(self._joined, conversation, state)
        done = set(state.get("celador_answered") or ())
        asked = latest(conversation.task.reviews(state="all"), waiting, done)
        if not any(review.state == "open" for review in asked):
            conversation.withdraw_stuck(waiting)
            return {"jump_to": "tools"}
        # Reviews that somebody else has closed meanwhile stay in the list, so that it is the same list when the node runs again with the answers.
        decided = [(review, decision) for review, decision in zip(asked, ask(asked), strict=True) if decision is not None]
        for review, decision in decided:
            pass_on(conversation, review, decision)
        return {"celador_answered": [*done, *(review.id for review, _ in decided)], "jump_to": "tools"}

    @hook_config(can_jump_to=["tools", "end"])
    async def abefore_model(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return await asyncio.to_thread(self.before_model, state, runtime)

    def _joined(self, conversation: Conversation, state: State) -> dict[str, Any] | None:
        """The messages that the model has not read yet, judged, and behind them those that were kept meanwhile."""
        looked = _admitted(conversation, state["messages"], len(state["messages"]))
        update, kept, stopped = list(looked.update), list(looked.kept), looked.stopped
        for entry in state.get("celador_kept") or ():
            message = entry["message"]
            step = conversation.kept(entry["id"], said(message))
            if isinstance(step, Kept):
                kept.append({"id": step.id, "message": message})
                continue
            stopped = stopped or (step if isinstance(step, Stopped) else None)
            update.append(rewritten(message, [Piece("text", REFUSED)] if isinstance(step, Stopped) else step.pieces))
        if not update and kept == (state.get("celador_kept") or []):
            return None if not kept else _ended(conversation, [], Stopped(KEPT))
        return {"celador_kept": kept, "messages": update, **_ended(conversation, update, stopped or (Stopped(KEPT) if kept else None))}

    @hook_config(can_jump_to=["tools"])
    def after_agent(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Tools whose result ends the run (`return_direct`) come here with calls that wait."""
        return self.before_model(state, runtime) if _waiting(state["messages"]) else None

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


def _with(request: ToolCallRequest, step: Run) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": step.arguments})


def _without(call: ToolCall, step: Tell | Ask | Hold) -> ToolMessage | Command[Any]:
    """What stands in the place of a result. A call that waits has no answer yet: `before_model` finds it by that."""
    if isinstance(step, Tell):
        return ToolMessage(step.text, name=call["name"], tool_call_id=id_of(call), status="error" if step.failed else "success")
    return Command()


@dataclasses.dataclass
class _Looked:
    """What has come of looking at the messages of a thread."""

    messages: list[AnyMessage] = dataclasses.field(default_factory=list)
    """Those that the model may read."""
    update: list[Any] = dataclasses.field(default_factory=list)
    """What changes in the state."""
    kept: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    stopped: Stopped | None = None


def _admitted(conversation: Conversation, messages: Sequence[AnyMessage], end: int) -> _Looked:
    """Judges each message that the task has not judged yet, wherever it stands. Those from `end` on came while calls of a turn have no result, and
    leave the thread until these have. A message that is refused ends the run if the model has said nothing since."""
    looked, known, calls = _Looked(), conversation.known(), dict[str, ToolCall]()
    last = max((at for at, message in enumerate(messages) if isinstance(message, AIMessage)), default=-1)
    for at, message in enumerate(messages):
        pieces = said(message)
        if isinstance(message, AIMessage):
            calls.update({id: call for call in message.tool_calls if (id := call["id"])})
            message, is_new = _with_known_calls(conversation, message, known, is_waiting=at == last and end < len(messages))
            looked.update += [message] if is_new else []
        call = calls.get(message.tool_call_id) if isinstance(message, ToolMessage) else None
        told = call and conversation.told(id_of(call), call["name"], call["args"], text_of(message))
        if told is not None:
            new = message if told == text_of(message) else message.model_copy(update={"content": told, "artifact": None})
        elif at < end and known.covers(pieces, of_model=sender(message) == "model"):
            new = rewritten(message, pieces)
            new = message if new == message else new
        else:
            step = conversation.said(pieces)
            if isinstance(step, Kept) or at >= end:
                looked.kept.append({"id": step.id if isinstance(step, Kept) else "", "message": message})
                looked.update.append(RemoveMessage(id=str(message.id)))
                continue
            if isinstance(step, Stopped) and at > last:
                looked.stopped = looked.stopped or step
            new = rewritten(message, step.pieces if isinstance(step, Admitted) else [Piece("text", REFUSED)])
        looked.messages.append(new)
        if new is not message:
            looked.update.append(new)
    return looked


def _with_known_calls(conversation: Conversation, message: AIMessage, known: Any, *, is_waiting: bool) -> tuple[AIMessage, bool]:
    """The message with the calls that the model may read of. Those of the last turn are judged when they run."""
    unknown = [call for call in message.tool_calls if not is_waiting and call["id"] and not conversation.knows_call(call["id"], call["name"], call["args"])]
    refused = {call["id"] for call in unknown if not conversation.brought(call["name"], call["args"], known)}
    if not refused:
        return message, False
    calls: list[ToolCall] = [{**call, "name": "refused", "args": {}} if call["id"] in refused else call for call in message.tool_calls]
    return message.model_copy(update={"tool_calls": calls}), True


def _says(conversation: Conversation, text: str) -> ModelResponse[Any]:
    """What the user reads in the place of a response."""
    return ModelResponse([AIMessage(conversation.own(text))])


def _ended(conversation: Conversation, update: list[Any], stopped: Stopped | None) -> dict[str, Any]:
    """Ends the run with a message, if something was stopped."""
    return {} if stopped is None else {"messages": [*update, AIMessage(conversation.own(stopped.text))], "jump_to": "end"}


def _end_of_turn(messages: Sequence[AnyMessage]) -> int:
    """Where the results of the last turn of the model end."""
    last = max(at for at, message in enumerate(messages) if isinstance(message, AIMessage))
    ids = {call["id"] for call in cast("AIMessage", messages[last]).tool_calls}
    behind = range(last + 1, len(messages))
    return next((at for at in behind if not (isinstance(m := messages[at], ToolMessage) and m.tool_call_id in ids)), len(messages))


def _turn(messages: list[AnyMessage]) -> tuple[list[ToolCall], set[str]]:
    """The calls of the last turn, and the ids of those that have an answer."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return message.tool_calls, answered
    return [], answered


def _waiting(messages: list[AnyMessage]) -> list[str]:
    calls, answered = _turn(messages)
    return [id for call in calls if (id := call["id"]) and id not in answered]


def _is_answered(state: Any, call: ToolCall) -> bool:
    return call["id"] in _turn(state["messages"])[1]


__all__ = ["FORMS", "Middleware", "State", "tools"]
