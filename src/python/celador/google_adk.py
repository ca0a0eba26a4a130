"""Celador for Google's Agent Development Kit: a plugin.

    runner = Runner(app=App(name="desk", root_agent=assistant, plugins=[celador.google_adk.Plugin(agent)]), session_service=sessions)

What the user says, each turn of the model with all of its calls, each result and the final response pass the policies. Reviews are confirmations
of the ADK (`adk_request_confirmation`): all reviews of a turn are asked in one event, other calls of the turn have run by then, and a function
response with `{"confirmed": true}` answers each, in this process or another one. The task has the id of the session and its user.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.set_model_response_tool import SetModelResponseTool
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.adk.tools.tool_context import ToolContext
from google.adk.tools.transfer_to_agent_tool import TransferToAgentTool
from google.genai import types

from celador._turns import REFUSED, Ask, Conversation, Given, Hold, Obligations, Run, Tasks, Tell, Whom, as_json, as_text, for_user

if TYPE_CHECKING:
    from celador import Agent, Decision, Tool
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext

_CONFIRMATION = "adk_request_confirmation"
_FLOW = {"transfer_to_agent", "set_model_response"}
"""Tools by which the ADK moves between agents and takes a typed response: they do nothing to the world."""


class Plugin(BasePlugin):
    """Holds the agents of a runner to the policies of an agent of Celador."""

    def __init__(self, agent: Agent, *, user: Whom = None, obligations: Obligations | None = None) -> None:
        """`user` says for whom the task runs: a user, or a function of the session; without it the user of the session.

        `obligations` are functions for the obligations of policies, by their ids; a call with another one does not run. What the model says is
        streamed once it was judged as a whole, as a stream cannot be called back."""
        super().__init__(name="celador")
        self._tasks = Tasks(agent, user or (lambda session: session.user_id), obligations)
        self._refused: dict[str, Decision] = {}
        self._running: set[str] = set()

    async def _of(self, session: Any) -> Conversation:
        return await self._tasks.find(session.id, session)

    # Messages

    async def on_user_message_callback(self, *, invocation_context: InvocationContext, user_message: types.Content) -> types.Content | None:
        conversation = await self._of(invocation_context.session)
        answers = [
            part.function_response for part in user_message.parts or () if part.function_response and part.function_response.name == _CONFIRMATION
        ]
        if answers:
            calls = _confirmed_calls(invocation_context.session.events)
            await conversation.off_loop(_pass_on, conversation, {calls[a.id]: a.response or {} for a in answers if a.id in calls})
        text = _text(user_message)
        if not text:
            return None
        decision = await conversation.off_loop(conversation.input, text)
        if not decision.allowed:
            self._refused[invocation_context.invocation_id] = decision
            return types.UserContent(REFUSED)
        return None if decision.text is None or decision.text == text else types.UserContent(decision.text)

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        refused = self._refused.pop(invocation_context.invocation_id, None)
        return None if refused is None else types.ModelContent(for_user(refused))

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        conversation = await self._of(callback_context.session)
        await conversation.off_loop(conversation.withdraw_stuck, _reported(llm_request.contents))
        limits = await conversation.off_loop(conversation.task.limits)
        return None if limits.allowed else _answer(limits)

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial:
            return LlmResponse(partial=True, content=types.Content(role="model", parts=[]))
        content = llm_response.content
        if content is None or not content.parts:
            return None
        conversation = await self._of(callback_context.session)
        return await conversation.off_loop(_judged, conversation, llm_response, content)

    # Calls

    async def before_tool_callback(self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
        if isinstance(tool, (TransferToAgentTool, SetModelResponseTool)):
            return None
        id = _id(tool_context)
        conversation = await self._of(tool_context.session)
        step = await conversation.call_when_free(id, tool.name, tool_args)
        match step:
            case Tell(text, failed):
                return {"error" if failed else "result": text}
            case Ask(review):
                tool_context.request_confirmation(
                    hint=review.text or f"{review.reviewer} is asked", payload={"review": review.id, "arguments": review.arguments}
                )
            case Hold(waits_for):
                tool_context.request_confirmation(
                    hint="This call waits for others: it needs no decision of its own.", payload={"waits_for": list(waits_for)}
                )
            case Run(arguments):
                await conversation.begin(step)
                tool_args.clear()
                tool_args.update(arguments)
                self._running.add(id)
                return None
        tool_context.actions.skip_summarization = True
        return {"error": "This call waits for a person."}

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        id = _id(tool_context)
        if id not in self._running:
            return None
        self._running.discard(id)
        conversation = await self._of(tool_context.session)
        given = await conversation.result_and_wake(id, result)
        if isinstance(given, Given):
            if not given.changed:
                return None
            return given.value if isinstance(given.value, dict) else {"result": given.value}
        return {"error": given.text}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Any
    ) -> dict[str, Any] | None:
        id = _id(tool_context)
        if id not in self._running:
            return None
        self._running.discard(id)
        conversation = await self._of(tool_context.session)
        if isinstance(error, Exception):
            await conversation.result_and_wake(id, type(error).__name__, failed=True)
        else:
            conversation.cancelled(id)
        return None


def tools(tools: Iterable[BaseTool]) -> list[Tool]:
    """Tools of the ADK as `celador.agent_for` takes them."""
    found: list[Tool] = []
    for tool in tools:
        declared = tool._get_declaration()
        if declared is None:
            raise ValueError(f"the tool {tool.name} declares no function")
        schema = declared.parameters_json_schema
        if schema is None:
            schema = declared.parameters.json_schema.model_dump(mode="json", exclude_none=True) if declared.parameters else {"type": "object"}
        found.append({"name": tool.name, "description": tool.description, "inputSchema": schema})
    return found


def _judged(conversation: Conversation, response: LlmResponse, content: types.Content) -> LlmResponse | None:
    calls = []
    for part in content.parts or ():
        if part.function_call and part.function_call.name not in _FLOW:
            # The ADK gives a call without an id one of this form, and only later.
            part.function_call.id = part.function_call.id or f"adk-{uuid.uuid4()}"
            calls.append((part.function_call.id, part.function_call.name or "", part.function_call.args or {}))
    usage = response.usage_metadata
    ended = conversation.turn(calls, (usage and usage.prompt_token_count) or 0, (usage and usage.candidates_token_count) or 0)
    if ended is not None:
        return _answer(ended)
    flow = [part.function_call for part in content.parts or () if part.function_call]
    typed = next((call for call in flow if call.name == "set_model_response"), None)
    if calls or (flow and typed is None):
        return None
    text = as_text(as_json(typed.args)) if typed else _text(content)
    decision = conversation.output(text)
    if not decision.allowed:
        return _answer(decision)
    if decision.text is None or decision.text == text:
        return None
    if typed is not None:
        raise ValueError("a policy rewrites responses of this agent, and they have a type: it can only refuse them")
    return response.model_copy(update={"content": types.ModelContent(decision.text)})


def _answer(decision: Decision) -> LlmResponse:
    return LlmResponse(content=types.ModelContent(for_user(decision)))


def _pass_on(conversation: Conversation, answers: dict[str, dict[str, Any]]) -> None:
    """Tells the task what people have answered. All of it, ahead of the first call that goes on."""
    for call, review in conversation.open_reviews(answers).items():
        confirmation = ToolConfirmation.from_response_dict(answers[call])
        payload = confirmation.payload if isinstance(confirmation.payload, dict) else {}
        if not confirmation.confirmed:
            conversation.answer(review, "deny", note=payload.get("note"))
        elif "arguments" in payload and payload["arguments"] != review.arguments:
            conversation.answer(review, "edit", arguments=payload["arguments"])
        else:
            conversation.answer(review, "approve")


def _confirmed_calls(events: Iterable[Any]) -> dict[str | None, str]:
    """The calls of the model, by the ids of the confirmations that were asked for them."""
    return {
        call.id: str((call.args or {}).get("originalFunctionCall", {}).get("id"))
        for event in events
        for call in event.get_function_calls()
        if call.name == _CONFIRMATION
    }


def _reported(contents: list[types.Content]) -> list[str]:
    """The calls whose results stand at the end: those of the turn before."""
    parts = contents[-1].parts if contents else None
    return [part.function_response.id for part in parts or () if part.function_response and part.function_response.id]


def _id(context: ToolContext) -> str:
    if not context.function_call_id:
        raise ValueError("a call has no id")
    return context.function_call_id


def _text(content: types.Content) -> str:
    return "".join(part.text for part in content.parts or () if part.text and not part.thought)


__all__ = ["Plugin", "tools"]
