"""Celador for MCP servers of the official Python SDK and of `fastmcp`: one line guards all tools of a server.

    server = MCPServer("desk")          # mcp 2; FastMCP is its earlier name
    celador.mcp.guard(server, agent)

    server = FastMCP("desk")            # fastmcp 4, which stands on mcp 2
    celador.mcp.guard(server, agent)

`tools/list` has the tools that the agent offers, with the arguments that a model may give. `tools/call` passes the policies; a call that is
refused is an error with the message of the rule. `resources/read` and `prompts/get` are calls of functions of these names, and are refused where the
agent has no such function. Other methods are refused, but for those in `FORMS`. A review that is addressed to the user of the task is asked by
elicitation, where the client can (in `InputRequiredResult` since 2026-07-28); others are for those who answer the reviews of the agent: the client is
told so, and calls again. A server of MCP hears of no user's message and of no turn of the model, so guardrails and limits of turns and tokens decide
nothing here.
"""

from __future__ import annotations

import dataclasses
import json
import uuid
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

try:
    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        AudioContent,
        CallToolResult,
        ElicitRequest,
        ElicitRequestFormParams,
        GetPromptResult,
        ImageContent,
        InputRequiredResult,
        ListToolsResult,
        ReadResourceResult,
        TextContent,
    )
except ImportError as error:
    raise ImportError(
        "celador.mcp is for servers of the package mcp, version 2 or later, and of fastmcp, version 4 or later: install one of them, "
        "or put `celador mcp` ahead of the server as it is"
    ) from error

from celador import CeladorError, MisuseError
from celador._messages import Form, as_json, as_text, drop, log, reading, treatment
from celador._steps import Ask, Given, Hold, Next, Obligations, Run, Tell, Whom
from celador._turns import Conversation, Tasks

if TYPE_CHECKING:
    from celador import Agent, Review, Tool, User
    from fastmcp import FastMCP
    from mcp.server import MCPServer, Server

_QUESTION = "celador"
_APPROVAL = {"type": "object", "properties": {"approve": {"type": "boolean", "title": "Approve this call"}}, "required": ["approve"]}
_INPUT_REQUIRED = "2026-07-28"
"""The revision of the protocol from which on a server asks in its answer, and the client calls again."""


_READS: dict[str, type[ReadResourceResult] | type[GetPromptResult]] = {"resources/read": ReadResourceResult, "prompts/get": GetPromptResult}
"""Methods that are calls of functions of their names, and what a server answers."""

_NEEDS = {
    "resources/list": "resources/read",
    "resources/templates/list": "resources/read",
    "resources/subscribe": "resources/read",
    "resources/unsubscribe": "resources/read",
    "prompts/list": "prompts/get",
}
"""Methods that go with a function: they are refused where the agent does not have it."""

FORMS: Sequence[Form] = (
    Form("tools/call", "client", "judged", "as a call"),
    Form("tools/list", "client", "judged", "the tools that the agent offers"),
    *(Form(method, "client", "judged", "as a call of a function of this name") for method in _READS),
    *(Form(method, "client", "passed", f"where the agent has the function `{needed}`") for method, needed in _NEEDS.items()),
    *(
        Form(method, "client", "passed", "of the protocol itself")
        for method in (
            "initialize",
            "ping",
            "server/discover",
            "logging/setLevel",
            "subscriptions/listen",
            "notifications/initialized",
            "notifications/cancelled",
            "notifications/progress",
            "notifications/roots/list_changed",
        )
    ),
    Form("completion/complete", "client", "refused", "named in `passes`, it is passed on"),
    *(Form(f"tasks/{what}", "client", "refused", "a result that no rule has judged") for what in ("get", "list", "result", "cancel", "update")),
    *(Form(kind, "server", "judged", "as the result of the call") for kind in ("CallToolResult", "InputRequiredResult")),
)
"""Which methods and results are known, and what happens to each. What is not here is refused."""


def guard(
    server: MCPServer[Any] | FastMCP[Any] | Server[Any],
    agent: Agent,
    *,
    task: Callable[[ServerRequestContext[Any, Any]], str] | None = None,
    user: Whom = None,
    obligations: Obligations | None = None,
    elicit: Literal["user", "anyone", "never"] | bool = "user",
    passes: Collection[str] = (),
    observe: bool = False,
) -> None:
    """Holds all tools of the server to the policies of the agent.

    `task` names the task of a request, such as that of its user; without it each connection is a task, and each request of a client that keeps no
    connection. `user` says for whom the task runs: a user, or a function of the request. `obligations` are functions for the obligations of policies, by
    their ids; a call with another one does not run. `elicit` says who may answer a review in the client: its user, who is the user of the task, what is
    addressed to them by id or e-mail address; `"anyone"` is for clients that reviewers use, and `"never"` for none. All other reviews are for those
    to whom the policy addresses them. `passes` names methods that are passed on unjudged. `observe` passes
    all methods on that are not known, and logs them as unjudged, for agents that observe.

    A server of `fastmcp` has middleware of its own, which runs behind the guard: the guard sees neither what that does to a call, nor calls that the
    program makes itself, by `server.call_tool`."""
    # `fastmcp` keeps the SDK's server in an attribute; what it calls middleware itself is given no request.
    on_wire: Any = getattr(server, "_mcp_server", server)
    who: Literal["user", "anyone", "never"] = elicit if isinstance(elicit, str) else "user" if elicit else "never"
    on_wire.middleware.append(_Guard(Tasks(agent, user, obligations, observe=observe), task, who, frozenset(passes)))


class _Guard:
    """The middleware. It is the innermost, so that nothing between it and a tool changes a call."""

    def __init__(
        self,
        tasks: Tasks,
        task: Callable[[ServerRequestContext[Any, Any]], str] | None,
        elicit: Literal["user", "anyone", "never"],
        passes: frozenset[str],
    ) -> None:
        self._tasks = tasks
        self._task = task
        self._elicit = elicit
        self._passes = passes
        self._connections: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        # The calls that clients were asked about, by their random ids: the task of each, and for whom it is.
        self._asked: dict[str, tuple[str, str | User | None]] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        method = ctx.method
        if method in self._passes:
            log.warning("passed on unjudged: %s", method)
            return await call_next(ctx)
        try:
            with reading(self._tasks.unjudged):
                how = treatment(FORMS, "client", method)
        except CeladorError as error:
            log.warning("%s", error)
            raise MCPError(METHOD_NOT_FOUND, str(error)) from None
        if how == "passed" and method not in _NEEDS:
            return await call_next(ctx)
        conversation = await self._tasks.find(self._conversation(ctx), ctx)
        if method == "tools/list":
            return await self._list(conversation, await call_next(ctx))
        if method == "tools/call":
            params: Mapping[str, Any] = ctx.params or {}
            return await self._call(conversation, ctx, call_next, str(params.get("name")), dict(params.get("arguments") or {}))
        needed = _NEEDS.get(method, method)
        if not any(offer["name"] == needed for offer in await conversation.off_loop(conversation.task.offers)):
            raise MCPError(METHOD_NOT_FOUND, f"refused: the agent has no function {needed!r}")
        if method in _NEEDS:
            return await call_next(ctx)
        return await self._read(conversation, ctx, call_next, method)

    async def _read(self, conversation: Conversation, ctx: ServerRequestContext[Any, Any], call_next: CallNext, method: str) -> HandlerResult:
        """A resource or a prompt: a call whose arguments are what the request names."""
        params = {name: value for name, value in (ctx.params or {}).items() if name in ("uri", "name", "arguments")}
        id = str(uuid.uuid4())
        step = await conversation.claim_on_loop(id, await conversation.call_when_free(id, method, params))
        if not isinstance(step, Run):
            told = await conversation.off_loop(_without, conversation, id, step)
            raise MCPError(INVALID_REQUEST, "".join(block.text for block in told.content if isinstance(block, TextContent)))
        meta = {name: value for name, value in (ctx.params or {}).items() if name == "_meta"}
        try:
            result = await call_next(dataclasses.replace(ctx, params={**meta, **step.arguments}))
        except Exception as error:
            await conversation.result_and_wake(id, type(error).__name__, failed=True)
            raise
        except BaseException:
            conversation.cancelled(id)
            raise
        form = _READS[method]
        read = result if isinstance(result, form) else form.model_validate(result)
        given = await conversation.result_and_wake(id, read.model_dump(mode="json", by_alias=True, exclude_none=True))
        if isinstance(given, Tell) or not isinstance(given.value, dict):
            raise MCPError(INVALID_REQUEST, given.text if isinstance(given, Tell) else "The result is withheld.")
        return form.model_validate(given.value)

    def _conversation(self, ctx: ServerRequestContext[Any, Any]) -> str:
        if self._task is not None:
            return self._task(ctx)
        # a client that keeps no connection answers in a request of its own
        asked = self._asked.get(_asked_here(ctx.params or {}) or "")
        if asked is not None and asked[1] == self._tasks.whom(ctx):
            return asked[0]
        connection = getattr(ctx.session, "_connection", ctx.session)
        return self._connections.setdefault(connection, str(uuid.uuid4()))

    async def _list(self, conversation: Conversation, result: HandlerResult) -> HandlerResult:
        listed = result if isinstance(result, ListToolsResult) else ListToolsResult.model_validate(result)
        offers = {offer["name"]: offer for offer in await conversation.off_loop(conversation.task.offers)}
        tools = [tool.model_copy(update={"input_schema": offers[tool.name]["schema"]}) for tool in listed.tools if tool.name in offers]
        return listed.model_copy(update={"tools": tools})

    async def _call(
        self, conversation: Conversation, ctx: ServerRequestContext[Any, Any], call_next: CallNext, name: str, arguments: dict[str, Any]
    ) -> HandlerResult:
        params: Mapping[str, Any] = ctx.params or {}
        id = await conversation.off_loop(self._id, conversation, params, name, arguments)
        step = await conversation.call_when_free(id, name, arguments)
        if isinstance(step, Ask) and self._may_ask(ctx, step.review) and _can_elicit(ctx):
            asked = await self._ask(conversation, ctx, params, id, step.review)
            if asked is not None:
                return asked
            step = await conversation.call_when_free(id, name, arguments)
        try:
            step = await conversation.claim_on_loop(id, step)
        except MisuseError as error:
            if error.code != "call_claimed":
                raise
            return _error("This call runs already, for another request.")
        if not isinstance(step, Run):
            return await conversation.off_loop(_without, conversation, id, step)
        # The state of the question is between the client and this guard: a tool that asks something itself has its own.
        passed = (
            {key: value for key, value in params.items() if key not in ("requestState", "inputResponses")} if _asked_here(params) else dict(params)
        )
        try:
            result = await call_next(dataclasses.replace(ctx, params={**passed, "arguments": step.arguments}))
        except Exception as error:
            await conversation.result_and_wake(id, type(error).__name__, failed=True)
            raise
        except BaseException:
            conversation.cancelled(id)
            raise
        if isinstance(result, InputRequiredResult) or (isinstance(result, dict) and result.get("resultType") == "input_required"):
            return await self._more(conversation, ctx, id, result)
        called = result if isinstance(result, CallToolResult) else CallToolResult.model_validate(result)
        given = await conversation.result_and_wake(id, _output(called), failed=bool(called.is_error))
        if not isinstance(given, Given):
            return _error(given.text)
        told = _told(given.value, called)
        notes = [TextContent(type="text", text=note) for note in given.notes]
        return told.model_copy(update={"content": [*told.content, *notes]}) if notes else told

    async def _more(self, conversation: Conversation, ctx: ServerRequestContext[Any, Any], id: str, result: Any) -> HandlerResult:
        """What a tool asks for before it goes on: judged as its result, as people and models read it. The call that comes with the answer is a new one."""
        asked = result if isinstance(result, InputRequiredResult) else InputRequiredResult.model_validate(result)
        if ctx.protocol_version < _INPUT_REQUIRED:
            conversation.cancelled(id)
            return _error("The call did not go on: the tool asks for something, and this protocol has no place for it.")
        questions = asked.model_dump(mode="json", by_alias=True, exclude_none=True).get("inputRequests")
        given = await conversation.result_and_wake(id, {"inputRequests": questions})
        if not isinstance(given, Given) or not isinstance(given.value, dict):
            return _error(given.text if isinstance(given, Tell) else "The question is withheld.")
        state = {} if asked.request_state is None else {"requestState": asked.request_state}
        return InputRequiredResult.model_validate({"resultType": "input_required", "inputRequests": given.value.get("inputRequests"), **state})

    def _may_ask(self, ctx: ServerRequestContext[Any, Any], review: Review) -> bool:
        """Whether the client's user may answer a review."""
        if self._elicit != "user":
            return self._elicit == "anyone"
        user = self._tasks.whom(ctx)
        email = None if user is None or isinstance(user, str) else user.get("email")
        id = user if user is None or isinstance(user, str) else user["id"]
        return review.reviewer == id or (email is not None and review.reviewer.lower() == email.lower())

    def _id(self, conversation: Conversation, params: Mapping[str, Any], name: str, arguments: dict[str, Any]) -> str:
        """The id of the call: a new one, but for a call that comes again with its answer, or to see what became of its review."""
        state = _asked_here(params)
        if state is not None and conversation.knows(state):
            return state  # the task holds it to its function and arguments
        wanted = as_json(arguments)
        for review in conversation.task.reviews(state="all"):
            if review.call is not None and review.function == name and review.arguments == wanted:
                standing = conversation.task.standing(review.call)
                if standing.allowed or standing.verdict == "suspend":
                    return review.call
        return str(uuid.uuid4())

    async def _ask(
        self, conversation: Conversation, ctx: ServerRequestContext[Any, Any], params: Mapping[str, Any], id: str, review: Review
    ) -> HandlerResult:
        """Asks the client's user. Nothing comes back once they have answered."""
        conversation.asking(id)
        message = f"{review.text or 'This call needs an approval.'}\n{review.function} {json.dumps(review.arguments, ensure_ascii=False)}"
        if ctx.protocol_version < _INPUT_REQUIRED:
            answered = await ctx.session.elicit_form(message, _APPROVAL, ctx.request_id)
            answer: dict[str, Any] | None = answered.model_dump(mode="json")
        else:
            # an answer to a question that was asked: its call has a random id, which nobody knows beforehand
            answer = (params.get("inputResponses") or {}).get(_QUESTION) if _asked_here(params) == id else None
            if answer is None:
                self._asked[id] = self._conversation(ctx), self._tasks.whom(ctx)
                while len(self._asked) > Tasks.MOST_OPEN:
                    del self._asked[next(iter(self._asked))]
                question = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=_APPROVAL))
                return InputRequiredResult(input_requests={_QUESTION: question}, request_state=json.dumps({_QUESTION: id}))
        self._asked.pop(id, None)
        approved = answer is not None and answer.get("action") == "accept" and (answer.get("content") or {}).get("approve") is True
        await conversation.answer_and_wake(review, "approve" if approved else "deny")
        return None


def tools(tools: Iterable[Any]) -> list[Tool]:
    """Tools as `list_tools` of a server or of a client has them, for `celador.agent_for`."""
    on_wire = (tool.to_mcp_tool() if hasattr(tool, "to_mcp_tool") else tool for tool in tools)
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in on_wire]


def _asked_here(params: Mapping[str, Any]) -> str | None:
    """The call that a question of this guard was about."""
    state = params.get("requestState")
    if not isinstance(state, str) or _QUESTION not in state:
        return None
    try:
        call = json.loads(state).get(_QUESTION)
    except (ValueError, AttributeError):
        return None
    return call if isinstance(call, str) else None


def _can_elicit(ctx: ServerRequestContext[Any, Any]) -> bool:
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _without(conversation: Conversation, id: str, step: Next) -> CallToolResult:
    match step:
        case Tell(text, failed):
            return _error(text) if failed else _told(text, None)
        case Ask(review):
            return _error(f"This call waits for {review.reviewer}. Make the same call again later.")
        case _:
            conversation.withdraw_stuck([id])
            waits = ", ".join(step.waits_for) if isinstance(step, Hold) else ""
            return _error(f"This call did not run: it has to wait for others ({waits}). Make the same call again later.")


def _output(result: CallToolResult) -> Any:
    if result.structured_content is not None:
        return as_json(result.structured_content)
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return as_json(texts[0]) if len(texts) == len(result.content) == 1 else [as_json(block) for block in result.content]


def _told(value: Any, result: CallToolResult | None) -> CallToolResult:
    """The result anew, from what was decided. What is no text stays where there is structured content beside it."""
    if result is None:
        return CallToolResult(content=[TextContent(type="text", text=as_text(value))])
    for name in result.meta or ():
        if not name.startswith("io.modelcontextprotocol/"):
            drop(f"_meta.{name}", "server")
    failed = bool(result.is_error)
    if result.structured_content is None:
        if isinstance(value, list) and len(result.content) != 1 and all(isinstance(block, dict) and "type" in block for block in value):
            return CallToolResult.model_validate({"content": value, "isError": failed})
        if len(result.content) == 1 and not isinstance(result.content[0], TextContent) and isinstance(value, list):
            return CallToolResult.model_validate({"content": value, "isError": failed})
        return CallToolResult(content=[TextContent(type="text", text=as_text(value))], is_error=failed)
    others = [block for block in result.content if isinstance(block, (ImageContent, AudioContent))]
    structured = value if isinstance(value, dict) else None
    # the servers of the SDK put a result that is no object under `result`, and the text beside it has it alone
    is_wrapped = structured is not None and set(structured) == {"result"} == set(result.structured_content)
    text = as_text(structured["result"] if structured is not None and is_wrapped else value)
    return CallToolResult(
        content=[TextContent(type="text", text=text), *others], structured_content=structured, is_error=failed or structured is None
    )


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


__all__ = ["FORMS", "guard", "tools"]
