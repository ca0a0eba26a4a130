"""Celador for MCP servers of the official Python SDK and of `fastmcp`: one line guards all tools of a server.

    server = MCPServer("desk")          # mcp 2; FastMCP is its earlier name
    celador.mcp.guard(server, agent)

    server = FastMCP("desk")            # fastmcp 4, which stands on mcp 2
    celador.mcp.guard(server, agent)

`tools/list` has the tools that the agent offers, with the arguments that a model may give. `tools/call` passes the policies; a call that is
refused is an error with the message of the rule. Reviews are asked of the client's user by elicitation, where the client can (in `InputRequiredResult`
since 2026-07-28), and of whoever answers the reviews of the agent otherwise: the client is told so, and calls again. A server of MCP hears of no
user's message and of no turn of the model, so guardrails and limits of turns and tokens decide nothing here.
"""

from __future__ import annotations

import dataclasses
import json
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

try:
    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult
    from mcp_types import CallToolResult, ElicitRequest, ElicitRequestFormParams, InputRequiredResult, ListToolsResult, TextContent
except ImportError as error:
    raise ImportError(
        "celador.mcp is for servers of the package mcp, version 2 or later, and of fastmcp, version 4 or later: install one of them, "
        "or put `celador mcp` ahead of the server as it is"
    ) from error

from celador._turns import Ask, Conversation, Given, Hold, Next, Obligations, Run, Tasks, Tell, Whom, as_json, as_text

if TYPE_CHECKING:
    from celador import Agent, Review, Tool
    from fastmcp import FastMCP
    from mcp.server import MCPServer, Server

_QUESTION = "celador"
_APPROVAL = {"type": "object", "properties": {"approve": {"type": "boolean", "title": "Approve this call"}}, "required": ["approve"]}
_INPUT_REQUIRED = "2026-07-28"
"""The revision of the protocol from which on a server asks in its answer, and the client calls again."""


def guard(
    server: MCPServer[Any] | FastMCP[Any] | Server[Any],
    agent: Agent,
    *,
    task: Callable[[ServerRequestContext[Any, Any]], str] | None = None,
    user: Whom = None,
    obligations: Obligations | None = None,
    elicit: bool = True,
) -> None:
    """Holds all tools of the server to the policies of the agent.

    `task` names the task of a request, such as that of its user; without it each connection is a task, and each request of a client that keeps no
    connection. `user` says for whom the task runs: a user, or a function of the request. `obligations` are functions for the obligations of policies, by
    their ids; a call with another one does not run. With `elicit=False` the client's user is never asked: reviews are then for those to whom
    the policy addresses them.

    A server of `fastmcp` has middleware of its own, which runs behind the guard: the guard sees neither what that does to a call, nor calls that the
    program makes itself, by `server.call_tool`."""
    # `fastmcp` keeps the SDK's server in an attribute; what it calls middleware itself is given no request.
    on_wire: Any = getattr(server, "_mcp_server", server)
    on_wire.middleware.append(_Guard(Tasks(agent, user, obligations), task, elicit))


class _Guard:
    """The middleware. It is the innermost, so that nothing between it and a tool changes a call."""

    def __init__(self, tasks: Tasks, task: Callable[[ServerRequestContext[Any, Any]], str] | None, elicit: bool) -> None:
        self._tasks = tasks
        self._task = task
        self._elicit = elicit
        self._connections: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method == "tools/call":
            return await self._call(await self._tasks.find(self._conversation(ctx), ctx), ctx, call_next)
        if ctx.method == "tools/list":
            conversation = await self._tasks.find(self._conversation(ctx), ctx)
            return await self._list(conversation, await call_next(ctx))
        return await call_next(ctx)

    def _conversation(self, ctx: ServerRequestContext[Any, Any]) -> str:
        if self._task is not None:
            return self._task(ctx)
        connection = getattr(ctx.session, "_connection", ctx.session)
        return self._connections.setdefault(connection, str(uuid.uuid4()))

    async def _list(self, conversation: Conversation, result: HandlerResult) -> HandlerResult:
        listed = result if isinstance(result, ListToolsResult) else ListToolsResult.model_validate(result)
        offers = {offer["name"]: offer for offer in await conversation.off_loop(conversation.task.offers)}
        tools = [tool.model_copy(update={"input_schema": offers[tool.name]["schema"]}) for tool in listed.tools if tool.name in offers]
        return listed.model_copy(update={"tools": tools})

    async def _call(self, conversation: Conversation, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        params: Mapping[str, Any] = ctx.params or {}
        name, arguments = str(params.get("name")), dict(params.get("arguments") or {})
        id = await conversation.off_loop(self._id, conversation, params, name, arguments)
        step = await conversation.call_when_free(id, name, arguments)
        if isinstance(step, Ask) and self._elicit and _can_elicit(ctx):
            asked = await self._ask(conversation, ctx, params, id, step.review)
            if asked is not None:
                return asked
            step = await conversation.call_when_free(id, name, arguments)
        if not isinstance(step, Run):
            return await conversation.off_loop(_without, conversation, id, step)
        await conversation.begin(step)
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
            # The tool asks for something and is called anew: what it has done by now is not known.
            conversation.cancelled(id)
            return result
        called = result if isinstance(result, CallToolResult) else CallToolResult.model_validate(result)
        given = await conversation.result_and_wake(id, _output(called), failed=bool(called.is_error))
        if isinstance(given, Given):
            return _told(given.value, called) if given.changed else called
        return _error(given.text)

    def _id(self, conversation: Conversation, params: Mapping[str, Any], name: str, arguments: dict[str, Any]) -> str:
        """The id of the call: a new one, but for a call that comes again with its answer, or to see what became of its review."""
        state = _asked_here(params)
        if state is not None:
            return state
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
            answer = (params.get("inputResponses") or {}).get(_QUESTION) if _asked_here(params) else None
            if answer is None:
                question = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=_APPROVAL))
                return InputRequiredResult(input_requests={_QUESTION: question}, request_state=json.dumps({_QUESTION: id}))
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
    structured = value if result is not None and result.structured_content is not None and isinstance(value, dict) else None
    return CallToolResult(
        content=[TextContent(type="text", text=as_text(value))], structured_content=structured, is_error=bool(result and result.is_error)
    )


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


__all__ = ["guard", "tools"]
