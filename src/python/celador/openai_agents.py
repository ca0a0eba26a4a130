"""Celador for the OpenAI Agents SDK: an agent whose model and tools are held to a task.

    result = await Runner.run(celador.openai_agents.guard(assistant, task), "My order came broken.")

What the user says, each turn of the model with all of its calls, each result and the final response pass the policies. Reviews are approvals of
the SDK: the run ends with `interruptions`, other calls of the turn have run by then, `state.approve(item)` and `state.reject(item)` answer, and
`Runner.run(agent, state)` goes on, in this process or another one.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from agents import (
    Agent,
    AgentHooks,
    FunctionTool,
    GuardrailFunctionOutput,
    Handoff,
    InputGuardrail,
    InputGuardrailResult,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    Model,
    ModelResponse,
    MultiProvider,
    OutputGuardrail,
    OutputGuardrailResult,
    OutputGuardrailTripwireTriggered,
    RunContextWrapper,
    Usage,
)
from agents.tool import resolve_function_tool_failure_error_function, set_function_tool_failure_error_function
from agents.tool_context import ToolContext
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from celador._turns import REFUSED, Ask, Conversation, Given, Hold, Obligations, Run, Tell, as_text, for_user

if TYPE_CHECKING:
    from celador import Task, Tool

C = TypeVar("C")


def guard(agent: Agent[C], task: Task, *, obligations: Obligations | None = None, stream: bool = False, tripwires: bool = False) -> Agent[C]:
    """A copy of the agent, and of those that it hands over to, whose models and tools are held to the task.

    `obligations` are functions for the obligations of policies, by their ids; a call with another one does not run. The events of the model are
    held back until a response is judged as a whole; `stream` lets them out as they come, for agents without a rule about responses. What is
    refused ends the run with the message of the rule as its output; with `tripwires`, and for agents with an output type, it ends with the
    exceptions of the SDK's guardrails.

    Raises `ValueError` for tools that do not run here, or are no functions: nobody could hold them to anything."""
    return _Guard(Conversation(task, obligations or {}), stream, tripwires).agent(agent)


def tools(tools: Iterable[FunctionTool]) -> list[Tool]:
    """Tools of the SDK as `celador.agent_for` takes them."""
    return [{"name": tool.name, "description": tool.description, "inputSchema": _loose(tool.params_json_schema)} for tool in tools]


class _Guard:
    """What the copies of the agents share: one conversation."""

    def __init__(self, conversation: Conversation, stream: bool, tripwires: bool) -> None:
        self.conversation = conversation
        self.stream = stream
        self.tripwires = tripwires
        self.said: dict[str, str] = {}
        """What users said, and what was admitted of it where that is something else."""
        self._agents: dict[int, Agent[Any]] = {}

    def agent(self, agent: Agent[C]) -> Agent[C]:
        known = self._agents.get(id(agent))
        if known is not None:
            return known
        unguarded = [tool.name for tool in agent.tools if not isinstance(tool, FunctionTool)]
        if unguarded:
            raise ValueError(
                f"nobody can hold these tools of {agent.name} to a policy, as they are no functions of this process: {', '.join(unguarded)}"
            )
        values = {field.name: getattr(agent, field.name) for field in dataclasses.fields(agent) if field.init}
        # A class of its own, as a runner copies agents: an attribute that replaces a method would be lost on the way.
        guarded: Agent[C] = type(type(agent).__name__, (_GuardedTools, type(agent)), {"guard": self})(**values)
        self._agents[id(agent)] = guarded
        guarded.model = _Model(self, guarded, agent.model)
        guarded.tools = [self.tool(tool) for tool in agent.tools if isinstance(tool, FunctionTool)]
        guarded.hooks = _Hooks(self, agent.hooks)
        guarded.handoffs = [self.agent(to) if isinstance(to, Agent) else self._handoff(to) for to in agent.handoffs]
        return guarded

    def _handoff(self, handoff: Handoff[Any, Any]) -> Handoff[Any, Any]:
        async def on_invoke_handoff(context: RunContextWrapper[Any], arguments: str) -> Any:
            return self.agent(await handoff.on_invoke_handoff(context, arguments))

        return dataclasses.replace(handoff, on_invoke_handoff=on_invoke_handoff)

    # Calls

    def tool(self, tool: FunctionTool) -> FunctionTool:
        conversation, failed = self.conversation, set[str]()
        inner = dataclasses.replace(tool)

        def failure(context: RunContextWrapper[Any], error: Exception) -> Any:
            if isinstance(context, ToolContext):
                failed.add(context.tool_call_id)
            formatter = resolve_function_tool_failure_error_function(tool, context)
            return formatter(context, error) if formatter else None

        if resolve_function_tool_failure_error_function(tool) is not None:
            set_function_tool_failure_error_function(inner, failure)

        async def needs_approval(context: RunContextWrapper[Any], arguments: dict[str, Any], call: str) -> bool:
            await conversation.off_loop(self.pass_answers_on, context)
            step = await conversation.call_when_free(call, tool.name, arguments)
            if isinstance(step, (Ask, Hold)):
                return True
            own = tool.needs_approval
            return (await own(context, arguments, call) if callable(own) else own) and isinstance(step, Run)

        async def invoke(context: ToolContext[Any], arguments: str) -> Any:
            await conversation.off_loop(self.pass_answers_on, context)
            call = context.tool_call_id
            step = await conversation.call_when_free(call, tool.name, json.loads(arguments or "{}"))
            if isinstance(step, (Ask, Hold)):
                await conversation.off_loop(conversation.task.withdraw, call)
                return "The call did not run: it waits for somebody who was not asked."
            if isinstance(step, Tell):
                return step.text
            await conversation.begin(step)
            try:
                output = await inner.on_invoke_tool(context, json.dumps(step.arguments))
            except Exception as error:
                await conversation.result_and_wake(call, type(error).__name__, failed=True)
                raise
            except BaseException:
                conversation.cancelled(call)
                raise
            given = await conversation.result_and_wake(call, output, failed=call in failed)
            failed.discard(call)
            if isinstance(given, Given):
                return as_text(given.value) if given.changed else output
            return given.text

        return dataclasses.replace(tool, on_invoke_tool=invoke, needs_approval=needs_approval)

    def pass_answers_on(self, context: RunContextWrapper[Any]) -> None:
        """Tells the task what people have answered to the SDK. All of it, ahead of the first call that goes on: a denial runs no tool, and so would
        never be told otherwise."""
        for review in self.conversation.task.reviews():
            if review.call is None or review.function is None or review.to_dict().get("result") is not None:
                continue
            approved = context.is_tool_approved(review.function, review.call)
            if approved is not None:
                self.conversation.answer(review, "approve" if approved else "deny")

    # Messages

    def admit(self, given: str | list[Any]) -> str | list[Any] | _Refusal:
        """What may be sent to the model."""
        items: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else given
        newest = next((item for item in reversed(items) if _role(item) == "user"), None)
        text = None if newest is None else _text(newest)
        if text is not None and items[-1] is newest:
            decision = self.conversation.input(text)
            if not decision.allowed:
                self.said[text] = REFUSED
                return _Refusal("input", for_user(decision))
            self.said[text] = text if decision.text is None else decision.text
        elif text is not None and text not in self.said:
            # Another process has judged it: the task knows what was admitted.
            inputs = self.conversation.task.context("input").get("input") or []
            self.said[text] = _parts_text(inputs[-1]["message"]) if inputs else text
        self.conversation.withdraw_stuck(_reported(items))
        limits = self.conversation.task.limits()
        if not limits.allowed:
            return _Refusal("limit", for_user(limits))
        return given if all(said == admitted for said, admitted in self.said.items()) else [self._rewritten(item) for item in items]

    def judge(self, output: list[Any], usage: tuple[int, int], handoffs: Iterable[str]) -> list[Any] | _Refusal | None:
        """Reports a turn. What comes back stands in the place of the model's output, if anything does."""
        others = set(handoffs)
        asked = [item for item in output if isinstance(item, ResponseFunctionToolCall)]
        calls = [(item.call_id, item.name, _arguments(item)) for item in asked if item.name not in others]
        ended = self.conversation.turn(calls, *usage)
        if ended is not None:
            return _Refusal("limit", for_user(ended))
        if asked:
            return None
        text = "".join(_text(item) or "" for item in output if isinstance(item, ResponseOutputMessage))
        decision = self.conversation.output(text)
        if not decision.allowed:
            return _Refusal("output", for_user(decision))
        return None if decision.text is None or decision.text == text else [_message(decision.text)]

    def _rewritten(self, item: Any) -> Any:
        text = _text(item) if _role(item) == "user" else None
        if text is None or self.said.get(text, text) == text:
            return item
        return {"role": "user", "content": self.said[text]}


@dataclasses.dataclass(frozen=True)
class _Refusal:
    what: Literal["input", "output", "limit"]
    text: str

    def output(self, guard: _Guard, agent: Agent[Any]) -> list[Any]:
        """The message in the place of the model's, or the exception that the SDK has for it."""
        if not guard.tripwires and agent.output_type in (None, str):
            return [_message(self.text)]
        told = GuardrailFunctionOutput(self.text, True)
        if self.what == "limit":
            raise MaxTurnsExceeded(self.text)
        if self.what == "input":
            raise InputGuardrailTripwireTriggered(InputGuardrailResult(InputGuardrail(_judged, name="celador"), told))
        raise OutputGuardrailTripwireTriggered(OutputGuardrailResult(OutputGuardrail(_judged, name="celador"), None, agent, told))


def _judged(*_: Any) -> GuardrailFunctionOutput:
    """The function of the guardrail that exceptions name; the model of the agent has judged already."""
    return GuardrailFunctionOutput(None, False)


class _GuardedTools(Agent[Any]):
    """Tools of MCP servers, which an agent asks for at each turn."""

    guard: _Guard

    async def get_mcp_tools(self, run_context: RunContextWrapper[Any]) -> list[Any]:
        return [self.guard.tool(tool) if isinstance(tool, FunctionTool) else tool for tool in await super().get_mcp_tools(run_context)]


class _Model(Model):
    """The model of an agent. It judges what goes in and what comes out, as no later hook can take back what has left."""

    def __init__(self, guard: _Guard, agent: Agent[Any], model: str | Model | None) -> None:
        self._guard = guard
        self._agent = agent
        self._inner = model if isinstance(model, Model) else MultiProvider().get_model(model)

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Handoff[Any, Any]],
        tracing: Any,
        **named: Any,
    ) -> ModelResponse:
        guard = self._guard
        admitted = await guard.conversation.off_loop(guard.admit, input)
        if isinstance(admitted, _Refusal):
            return ModelResponse(admitted.output(guard, self._agent), Usage(), None)
        response = await self._inner.get_response(system_instructions, admitted, model_settings, tools, output_schema, handoffs, tracing, **named)
        usage = (response.usage.input_tokens, response.usage.output_tokens)
        judged = await guard.conversation.off_loop(guard.judge, response.output, usage, _names(handoffs))
        if judged is None:
            return response
        return dataclasses.replace(response, output=judged.output(guard, self._agent) if isinstance(judged, _Refusal) else judged)

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Handoff[Any, Any]],
        tracing: Any,
        **named: Any,
    ) -> AsyncIterator[Any]:
        guard = self._guard
        admitted = await guard.conversation.off_loop(guard.admit, input)
        if isinstance(admitted, _Refusal):
            yield _completed(admitted.output(guard, self._agent))
            return
        held: list[Any] = []
        events = self._inner.stream_response(system_instructions, admitted, model_settings, tools, output_schema, handoffs, tracing, **named)
        async for event in events:
            if not isinstance(event, ResponseCompletedEvent):
                if guard.stream:
                    yield event
                else:
                    held.append(event)
                continue
            response = event.response
            usage = (response.usage.input_tokens, response.usage.output_tokens) if response.usage else (0, 0)
            judged = await guard.conversation.off_loop(guard.judge, response.output, usage, _names(handoffs))
            if judged is None:
                for earlier in held:
                    yield earlier
                yield event
            else:
                output = judged.output(guard, self._agent) if isinstance(judged, _Refusal) else judged
                yield event.model_copy(update={"response": response.model_copy(update={"output": output})})
            held.clear()
        # A stream that ended without a response has said nothing that was judged, but for what went wrong.
        for event in held:
            if event.type in ("response.failed", "response.incomplete", "error"):
                yield event


class _Hooks(AgentHooks[Any]):
    """Passes on what people have answered, and calls the agent's own hooks."""

    def __init__(self, guard: _Guard, own: AgentHooks[Any] | None) -> None:
        self._guard = guard
        self._own: AgentHooks[Any] = own or AgentHooks()

    async def on_llm_start(self, context: RunContextWrapper[Any], agent: Agent[Any], system_prompt: str | None, input_items: list[Any]) -> None:
        await self._guard.conversation.off_loop(self._guard.pass_answers_on, context)
        await self._own.on_llm_start(context, agent, system_prompt, input_items)

    async def on_start(self, *given: Any, **named: Any) -> None:
        await self._own.on_start(*given, **named)

    async def on_end(self, *given: Any, **named: Any) -> None:
        await self._own.on_end(*given, **named)

    async def on_handoff(self, *given: Any, **named: Any) -> None:
        await self._own.on_handoff(*given, **named)

    async def on_tool_start(self, *given: Any, **named: Any) -> None:
        await self._own.on_tool_start(*given, **named)

    async def on_tool_end(self, *given: Any, **named: Any) -> None:
        await self._own.on_tool_end(*given, **named)

    async def on_llm_end(self, *given: Any, **named: Any) -> None:
        await self._own.on_llm_end(*given, **named)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def _role(item: Any) -> Any:
    return _get(item, "role")


def _text(item: Any) -> str | None:
    content = _get(item, "content")
    if content is None:
        return None
    if isinstance(content, str):
        return content
    return "".join(_get(part, "text") or "" for part in content)


def _parts_text(parts: list[dict[str, Any]]) -> str:
    return "".join(part.get("text", "") for part in parts)


def _reported(items: list[Any]) -> list[str]:
    """The calls whose outputs stand at the end: those of the turn before."""
    calls = []
    for item in reversed(items):
        if _get(item, "type") != "function_call_output":
            break
        calls.append(_get(item, "call_id"))
    return calls


def _arguments(call: ResponseFunctionToolCall) -> dict[str, Any]:
    """Arguments that are no JSON stand under a name of their own: no schema has it, and the SDK refuses the call."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        return {"": call.arguments}
    return arguments if isinstance(arguments, dict) else {"": arguments}


def _names(handoffs: Iterable[Handoff[Any, Any]]) -> list[str]:
    return [handoff.tool_name for handoff in handoffs]


def _message(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="celador", type="message", role="assistant", status="completed", content=[part])


def _completed(output: list[Any]) -> ResponseCompletedEvent:
    response = Response(
        id="celador", created_at=0, model="celador", object="response", output=output, tool_choice="none", tools=[], parallel_tool_calls=False
    )
    return ResponseCompletedEvent(type="response.completed", sequence_number=0, response=response)


def _loose(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of strict tools requires every parameter, and says of those with a default what that is: such a parameter may be left out."""
    loose = copy.deepcopy(schema)
    properties = loose.get("properties", {})
    loose["required"] = [name for name in loose.get("required", ()) if "default" not in properties.get(name, {})]
    return loose


__all__ = ["guard", "tools"]
