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
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt
from pydantic import AfterValidator
from typing_extensions import NotRequired

from celador import MisuseError
from celador._langchain_messages import FORMS, rewritten, said, sender
from celador._messages import Piece, as_json, as_text, drop, refuse, treatment
from celador._steps import KEPT, REFUSED, Admitted, Ask, Given, Hold, Kept, Next, Obligations, Run, Stopped, Tell, Whom, for_user
from celador._turns import Conversation, Tasks

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from celador import Agent, Review, Tool

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
        calls = [(_id(call), call["name"], call["args"]) for call in message.tool_calls if call["id"] not in answers]
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
            conversation.own_result(id, _text(answer))
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
        step = conversation.call(_id(call), call["name"], call["args"])
        if self._each and _is_alone():
            step = _answered(conversation, call, step)
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
        return conversation.step(self._reported, conversation, call, result)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        call = request.tool_call
        conversation = await self._find(request.state, request.runtime)
        if _is_answered(request.state, call):
            return Command()
        step = await conversation.off_loop(conversation.call, _id(call), call["name"], call["args"])
        if self._each and _is_alone():
            step = await conversation.off_loop(_answered, conversation, call, step)
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
        """The result anew, from what was decided of it. A `Command` is one result, with all of its messages and what it writes into the state."""
        parts = _Result.of(result, call)
        given = conversation.result(_id(call), parts.output(), failed=parts.failed)
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
        asked = _latest(conversation.task.reviews(state="all"), waiting, done)
        if not any(review.state == "open" for review in asked):
            conversation.withdraw_stuck(waiting)
            return {"jump_to": "tools"}
        # Reviews that somebody else has closed meanwhile stay in the list, so that it is the same list when the node runs again with the answers.
        # LangGraph holds an answer to the schema before it keeps it, so that one which does not fit may be given again.
        answers = interrupt(_request(asked), response_schema=cast("type[dict[str, Any]]", Annotated[dict[str, Any], AfterValidator(_fitting(asked))]))
        answered = [(review, decision) for review, decision in zip(asked, answers["decisions"], strict=True) if decision is not None]
        for review, decision in answered:
            _answer(conversation, review, decision)
        return {"celador_answered": [*done, *(review.id for review, _ in answered)], "jump_to": "tools"}

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


@dataclasses.dataclass(frozen=True)
class _Result:
    """What a tool has returned: a message, or a command with messages and what it writes into the state of the graph."""

    of_call: ToolMessage | None
    messages: list[AnyMessage]
    rest: dict[str, Any]
    command: Command[Any] | None
    unread: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What a command writes that no rule can read."""

    @classmethod
    def of(cls, result: ToolMessage | Command[Any], call: ToolCall) -> _Result:
        if isinstance(result, ToolMessage):
            said(result)
            return cls(result, [result], {}, None)
        treatment(FORMS, "tool", type(result).__name__)
        update = {} if result.update is None else result.update
        if not isinstance(update, dict):
            refuse("no rule can read a Command whose update is no dict")
            return cls(None, [], {}, result)
        messages = update.get("messages") or []
        messages = messages if isinstance(messages, list) else [messages]
        for message in messages:
            if isinstance(message, RemoveMessage):
                continue
            said(message)
        if "celador_task" in update or "celador_kept" in update:
            raise MisuseError("a Command that writes what the middleware keeps", "reserved")
        rest = {name: value for name, value in update.items() if name != "messages"}
        unread = {name: value for name, value in rest.items() if not _is_json(value)}
        for name in unread:
            refuse(f"no rule can read what a Command writes as {name!r}, as it is no JSON")
            del rest[name]
        own = next((m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call["id"]), None)
        return cls(own, messages, rest, result, unread)

    @property
    def failed(self) -> bool:
        return self.of_call is not None and self.of_call.status == "error"

    def output(self) -> Any:
        """What rules read: the content of the one message, or all contents and all else by their names."""
        contents = [message.content for message in self.messages if not isinstance(message, RemoveMessage)]
        if not self.rest and len(contents) <= 1:
            return contents[0] if contents else None
        return {"messages": [as_json(content) for content in contents], **self.rest}

    def anew(self, value: Any, artifacts: bool) -> ToolMessage | Command[Any]:
        whole = self.rest or len([m for m in self.messages if not isinstance(m, RemoveMessage)]) > 1
        contents = list(value["messages"]) if whole and isinstance(value, dict) and isinstance(value.get("messages"), list) else [value]
        messages: list[Any] = []
        for message in self.messages:
            if isinstance(message, RemoveMessage):
                messages.append(message)
            elif contents:
                messages.append(_with_content(message, contents.pop(0), artifacts))
        if self.command is None:
            return cast("ToolMessage", messages[0])
        rest = {name: value[name] for name in self.rest if isinstance(value, dict) and name in value}
        if not isinstance(self.command.update, (dict, type(None))):
            return self.command
        return dataclasses.replace(self.command, update={**self.unread, **rest, **({"messages": messages} if messages else {})})


def _is_json(value: Any) -> bool:
    """Whether a value is JSON as it stands: made anew from JSON it is the same."""
    if isinstance(value, dict):
        return all(type(name) is str and _is_json(member) for name, member in value.items())
    if isinstance(value, list):
        return all(_is_json(member) for member in value)
    return value is None or (type(value) in (bool, int, float, str) and type(as_json([value])[0]) is type(value))


def _with_content(message: AnyMessage, value: Any, artifacts: bool) -> AnyMessage:
    """The message with a content that was decided: parts of LangChain if it is a list of such, else the text of the value."""
    as_parts = isinstance(value, list) and value and all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in value)
    content: Any = value if as_parts and isinstance(message.content, list) else as_text(value)
    if not isinstance(message, ToolMessage):
        return rewritten(message.model_copy(update={"content": content}), said(message.model_copy(update={"content": content})))
    new = ToolMessage(content, id=message.id, name=message.name, tool_call_id=message.tool_call_id, status=message.status)
    if artifacts:
        new.artifact = message.artifact
    elif message.artifact is not None:
        drop("artifact", "tool")
    return new


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
        told = call and conversation.told(_id(call), call["name"], call["args"], _text(message))
        if told is not None:
            new = message if told == _text(message) else message.model_copy(update={"content": told, "artifact": None})
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


def _text(message: AnyMessage) -> str:
    return message.content if isinstance(message.content, str) else as_text(message.content)


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
                case None:
                    pass  # this one is answered later
                case {"type": "approve" | "reject"} | {"type": "respond", "message": _}:
                    pass
                case {"type": "edit", "edited_action": {"name": review.function, "args": dict()}}:
                    pass
                case _:
                    raise ValueError(f"no decision about a call of {review.function}: approve, edit (the arguments alone), reject or respond")
        return answers

    return check


def _answered(conversation: Conversation, call: ToolCall, step: Next) -> Next:
    """How far a call is once its review is answered, by an interrupt of its own. Interrupts are told apart by their places in the task of LangGraph that
    the call is, so one that was answered keeps its place ahead of those of the tool itself."""
    place = 0
    while isinstance(step, Ask) or _has_answer(place):
        asked = [step.review] if isinstance(step, Ask) else []
        schema = cast("type[dict[str, Any]]", Annotated[dict[str, Any], AfterValidator(_fitting(asked))]) if asked else None
        answers = interrupt(_request(asked), response_schema=schema)
        for review, decision in zip(asked, answers["decisions"], strict=False):
            if decision is None:
                return step
            _answer(conversation, review, decision)
        place += 1
        if asked:
            step = conversation.call(_id(call), call["name"], call["args"])
    return step


def _is_alone() -> bool:
    """Whether LangGraph runs the call as a task of its own, as it does behind the model. Calls that are tried again share one task, in which answers to
    interrupts could not be told apart: their reviews are asked together, by `before_model`."""
    path = get_config().get("metadata", {}).get("langgraph_path") or ()
    return "__pregel_push" in path


def _has_answer(place: int) -> bool:
    """Whether the interrupt at this place of the task has an answer to a review. LangGraph has no other way to ask, and says nothing of the next one."""
    given = getattr(get_config().get("configurable", {}).get("__pregel_scratchpad"), "resume", ())
    return place < len(given) and isinstance(given[place], dict) and isinstance(given[place].get("decisions"), list)


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


__all__ = ["FORMS", "Middleware", "State", "tools"]
