"""Celador for the OpenAI Agents SDK: an agent whose model and tools are held to a task.

    result = await Runner.run(celador.openai_agents.guard(assistant, task), "My order came broken.")

Every item that the model reads, each turn of the model with its texts and all of its calls, and each result pass the policies; `FORMS` has the items
and parts that are known. Reviews are approvals of the SDK: the run ends with `interruptions`, other calls of the turn have run by then,
`state.approve(item)` and `state.reject(item)` answer one or more of them, and `Runner.run(agent, state)` goes on, in this process or another one. A call
that was approved and has to wait for other reviews stays among the `interruptions`, and runs by itself once these are answered.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
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
from openai.types.responses import Response, ResponseCompletedEvent, ResponseFunctionToolCall

from celador import CeladorError, MisuseError
from celador._messages import Piece, Unjudged, as_text, joined, refuse, text_piece
from celador._openai_items import FORMS, UNJUDGED, arguments_of, events, get, kind_of, message, pieces_of, response_items, response_pieces, written
from celador._steps import KEPT, REFUSED, Admitted, Ask, Given, Hold, Kept, Late, Obligations, Run, Stopped, Tell, for_user
from celador._turns import Conversation

if TYPE_CHECKING:
    from celador import Task, Tool

C = TypeVar("C")

_HELD = "celador-held:"
"""Ahead of the id of an approved call that cannot run yet, in the SDK's record of approvals."""


def guard(
    agent: Agent[C], task: Task, *, obligations: Obligations | None = None, stream: bool = False, tripwires: bool = False, observe: bool = False
) -> Agent[C]:
    """A copy of the agent, and of those that it hands over to, whose models and tools are held to the task.

    `obligations` are functions for the obligations of policies, by their ids; a call with another one does not run. The events of the model are
    held back until a response is judged as a whole; `stream` lets them out as they come, for agents without a rule about responses. What is
    refused ends the run with the message of the rule as its output; with `tripwires`, and for agents with an output type, it ends with the
    exceptions of the SDK's guardrails.

    Raises `ValueError` for tools that do not run here, or are no functions: nobody could hold them to anything. `observe` passes these on, and forms of items that
    no rule can read, and logs them as unjudged, for tasks of agents that observe."""
    conversation = Conversation(task, obligations or {}, Unjudged() if observe else None)
    return conversation.step(_Guard(conversation, stream, tripwires).agent, agent)


def tools(tools: Iterable[FunctionTool]) -> list[Tool]:
    """Tools of the SDK as `celador.agent_for` takes them."""
    return [{"name": tool.name, "description": tool.description, "inputSchema": _loose(tool.params_json_schema)} for tool in tools]


class _Guard:
    """What the copies of the agents share: one conversation."""

    def __init__(self, conversation: Conversation, stream: bool, tripwires: bool) -> None:
        self.conversation = conversation
        self.stream = stream
        self.tripwires = tripwires
        self.joined: list[tuple[int, Any]] = []
        """Messages that were kept and that the history of a run does not have: how many items are ahead, and the item."""
        self.handoffs: set[str] = set()
        self._agents: dict[int, Agent[Any]] = {}

    def agent(self, agent: Agent[C]) -> Agent[C]:
        known = self._agents.get(id(agent))
        if known is not None:
            return known
        unguarded = [tool.name for tool in agent.tools if not isinstance(tool, FunctionTool)]
        if unguarded:
            try:
                refuse(f"nobody can hold these tools of {agent.name} to a policy, as they are no functions of this process: {', '.join(unguarded)}")
            except CeladorError as error:
                raise ValueError(str(error)) from None
        values = {field.name: getattr(agent, field.name) for field in dataclasses.fields(agent) if field.init}
        # A class of its own, as a runner copies agents: an attribute that replaces a method would be lost on the way.
        guarded: Agent[C] = type(type(agent).__name__, (_GuardedTools, type(agent)), {"guard": self})(**values)
        self._agents[id(agent)] = guarded
        guarded.model = _Model(self, guarded, agent.model)
        guarded.tools = [self.tool(tool) if isinstance(tool, FunctionTool) else tool for tool in agent.tools]
        guarded.hooks = _Hooks(self, agent.hooks)
        guarded.handoffs = [self.agent(to) if isinstance(to, Agent) else self._handoff(to) for to in agent.handoffs]
        return guarded

    def _handoff(self, handoff: Handoff[Any, Any]) -> Handoff[Any, Any]:
        async def on_invoke_handoff(context: RunContextWrapper[Any], arguments: str) -> Any:
            return self.conversation.step(self.agent, await handoff.on_invoke_handoff(context, arguments))

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
            step = await conversation.call_when_free(call, tool.name, arguments_of({"arguments": arguments}))
            step = await conversation.claim_on_loop(call, step)
            if isinstance(step, (Ask, Hold)):
                # approved for good in the SDK, which asks no more: the run ends here, and its state goes on once the reviews are answered
                raise MisuseError(f"the call {call} of {tool.name} waits for reviews: answer them and run the state again", "waits")
            if isinstance(step, Tell):
                return step.text
            try:
                output = await inner.on_invoke_tool(context, as_text(step.arguments))
            except Exception as error:
                await conversation.result_and_wake(call, type(error).__name__, failed=True)
                raise
            except BaseException:
                conversation.cancelled(call)
                raise
            given = await conversation.result_and_wake(call, output, failed=call in failed)
            failed.discard(call)
            return as_text(given.told) if isinstance(given, Given) else given.text

        return dataclasses.replace(tool, on_invoke_tool=invoke, needs_approval=needs_approval)

    def pass_answers_on(self, context: RunContextWrapper[Any]) -> None:
        """Tells the task what people have answered to the SDK. All of it, ahead of the first call that goes on: a denial runs no tool, and so would
        never be told otherwise."""
        for review in self.conversation.task.reviews():
            if review.call is None or review.function is None or review.to_dict().get("result") is not None:
                continue
            approved = context.is_tool_approved(review.function, review.call)
            if approved is not None:
                note = None if approved else context.get_rejection_message(review.function, review.call)
                self.conversation.answer(review, "approve" if approved else "deny", note=note)
        self._hold(context)

    def _hold(self, context: RunContextWrapper[Any]) -> None:
        """Has the SDK ask again for a call that was approved and cannot run yet, and ask no more once it can; and has it tell the model what the task
        says of a denied call. The SDK has no word for the first, so the mark stands in its own record of approvals, which goes into the state of a run."""
        for record in context._approvals.values():
            if isinstance(record.approved, list):
                record.approved[:] = dict.fromkeys(self._marked(call) for call in record.approved)
            if isinstance(record.rejected, list):
                for call in record.rejected:
                    step = self._standing(call)
                    if isinstance(step, Tell):
                        record.rejection_messages[call] = step.text

    def _marked(self, approved: str) -> str:
        call = approved.removeprefix(_HELD)
        return f"{_HELD}{call}" if isinstance(self._standing(call), Hold) else call

    def _standing(self, call: str) -> Any:
        try:
            return self.conversation.call_as_it_is(call)
        except MisuseError:
            return None  # a call of another task

    # Messages

    def admit(self, given: str | list[Any]) -> list[Any] | _Refusal:
        """What may be sent to the model: each item that the task has not judged yet is judged, wherever it stands."""
        items: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        for at, late in self.joined:
            if not any(_key(late) == _key(item) for item in items):
                items.insert(min(at, len(items)), late)
        self._put_late(items)
        conversation = self.conversation
        known, calls, present = conversation.known(), dict[str, Any](), set[int]()
        last = max((at for at, item in enumerate(items) if kind_of(item)[1] in ("assistant", "tool")), default=-1)
        result: list[Any] = []
        refused: _Refusal | None = None
        for at, item in enumerate(items):
            kind, sender = kind_of(item)
            if kind == UNJUDGED:
                result.append(item)
                continue
            if kind == "function_call":
                calls[str(get(item, "call_id"))] = item
                result += self._call(item, known)
                continue
            call = calls.get(str(get(item, "call_id"))) if kind == "function_call_output" else None
            text = as_text(get(item, "output")) if call is not None else ""
            told = call and conversation.told(str(get(call, "call_id")), str(get(call, "name")), arguments_of(call), text)
            if call is None and kind == "function_call_output" and conversation.is_told(str(get(item, "call_id")), as_text(get(item, "output"))):
                told = as_text(get(item, "output"))  # the vendor keeps the call
            if told is not None:
                result.append({"type": "function_call_output", "call_id": get(item, "call_id"), "output": told})
                continue
            present.add(id(item))
            step = conversation.history(pieces_of(item, sender), known, item, of_model=sender == "assistant", is_new=at > last)
            if isinstance(step, Admitted):
                result += self._written(item, kind, sender, step.pieces)
            elif isinstance(step, Stopped) and at <= last:
                result += self._written(item, kind, sender, [text_piece(REFUSED)])
            else:
                refused = refused or _Refusal("input", step.text if isinstance(step, Stopped) else KEPT)
        # what was kept and the history of this run does not have
        for key, item in [(key, item) for key, (_, item) in conversation.waiting.items() if id(item) not in present]:
            came = conversation.take_up(key, pieces_of(item, "user"))
            if isinstance(came, Admitted) and self._lacks(items, item, came.pieces):
                self.joined.append((len(items), item))
                conversation.note_late(Late(tuple(came.pieces), frozenset(_outputs(items))))
                result += written(item, "user", came.pieces)
            elif isinstance(came, Stopped):
                refused = refused or _Refusal("input", came.text)
        refused = self._join_left_over(result, len(items)) or refused
        conversation.withdraw_stuck(_reported(items))
        if refused is not None:
            return refused
        limits = conversation.task.limits()
        return result if limits.allowed else _Refusal("limit", for_user(limits))

    def _put_late(self, items: list[Any]) -> None:
        """Puts messages that were kept into a history that a caller has made of an earlier run, which does not have them: behind the results that the model
        read ahead of them. A history without these results is another one."""
        is_new_run = not items or kind_of(items[-1])[0] != "function_call_output"
        # a session has what came, in the words of its sender: between a call and its output, where no other history has a message
        came = collections.Counter[int]()
        for late in reversed(self.conversation.late(is_new_run=is_new_run)):
            call, place = (_last(items, kind, late.behind) for kind in ("function_call", "function_call_output"))
            made = written({"role": "user"}, "user", list(late.pieces))
            if place is None or not made or not self._lacks(items, made[0], late.pieces):
                continue
            came[place] += 1
            if came[place] > sum(kind_of(item) == ("message", "user") for item in items[call or 0 : place]):
                items[place + 1 : place + 1] = made

    def _lacks(self, items: list[Any], message: Any, admitted: Sequence[Piece]) -> bool:
        """Whether a history has a message less often than the task has judged it, as it came or as it was admitted."""
        made = written({"role": "user"}, "user", list(admitted))
        keys = {_key(message), *(_key(item) for item in made)}
        return sum(_key(item) in keys for item in items) < self.conversation.known().count(admitted)

    def _join_left_over(self, result: list[Any], place: int) -> _Refusal | None:
        """Puts what another process has kept behind the items of a request, unless a session has it among them."""
        conversation = self.conversation
        here = {_key(item) for item in result if kind_of(item)[0] == "message"}
        for id, step in conversation.left_over():
            if isinstance(step, Kept):
                return _Refusal("input", KEPT)
            if conversation.left is not None:
                conversation.left.remove(id)
            if isinstance(step, Stopped):
                return _Refusal("input", step.text)
            for item in written({"role": "user"}, "user", step.pieces):
                if _key(item) not in here:
                    self.joined.append((place, item))
                    result.append(item)
        return None

    def _written(self, item: Any, kind: str, sender: str, pieces: list[Piece]) -> list[Any]:
        if kind == "function_call_output":
            text = "".join(piece.text or "" for piece in pieces)
            return [{"type": "function_call_output", "call_id": get(item, "call_id"), "output": text}]
        return written(item, sender, pieces)

    def _call(self, item: Any, known: Any) -> list[Any]:
        """A call in the history. One that the task does not know was brought by the caller: its arguments are an input."""
        call = {"type": "function_call", "call_id": get(item, "call_id"), "name": get(item, "name"), "arguments": get(item, "arguments")}
        is_handoff = get(item, "name") in self.handoffs and get(item, "arguments") in ("", "{}")
        if is_handoff or self.conversation.knows_call(str(get(item, "call_id")), str(get(item, "name")), arguments_of(item)):
            return [call]
        admitted = self.conversation.brought(str(call["name"]), {"arguments": str(call["arguments"])}, known)
        return [call if admitted else {**call, "name": "refused", "arguments": "{}"}]

    def judge(self, output: list[Any], usage: tuple[int, int], handoffs: Iterable[str]) -> list[Any] | _Refusal:
        """Reports a turn. What comes back stands in the place of the model's output."""
        self.handoffs |= set(handoffs)
        asked = [item for item in output if isinstance(item, ResponseFunctionToolCall)]
        calls = [(item.call_id, item.name, arguments_of(item)) for item in asked if item.name not in self.handoffs]
        pieces = response_pieces(output)
        ended = None if asked else self.conversation.turn([], *usage)
        decided = self.conversation.response(pieces) if ended is None else None
        if asked:
            ended = self.conversation.turn(calls if isinstance(decided, Admitted) else [], *usage)
        if ended is not None:
            return _Refusal("limit", self.conversation.own(for_user(ended)))
        if isinstance(decided, Admitted):
            return response_items(output, decided.pieces)
        return _Refusal("output", self.conversation.own(decided.text if decided else ""))


@dataclasses.dataclass(frozen=True)
class _Refusal:
    what: Literal["input", "output", "limit"]
    text: str

    def output(self, guard: _Guard, agent: Agent[Any]) -> list[Any]:
        """The message in the place of the model's, or the exception that the SDK has for it."""
        if not guard.tripwires and agent.output_type in (None, str):
            return [message(guard.conversation.own(self.text))]
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
    """Tools of MCP servers, which an agent asks for at each turn, and at the begin of a run that goes on: ahead of the first call."""

    guard: _Guard

    async def get_mcp_tools(self, run_context: RunContextWrapper[Any]) -> list[Any]:
        await self.guard.conversation.off_loop(self.guard.pass_answers_on, run_context)
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
        raw = self._inner.stream_response(system_instructions, admitted, model_settings, tools, output_schema, handoffs, tracing, **named)
        async for event in raw:
            if not isinstance(event, ResponseCompletedEvent):
                if guard.stream:
                    yield event
                elif event.type in ("response.failed", "response.incomplete", "error"):
                    held.append(event)
                continue
            response = event.response
            usage = (response.usage.input_tokens, response.usage.output_tokens) if response.usage else (0, 0)
            judged = await guard.conversation.off_loop(guard.judge, response.output, usage, _names(handoffs))
            output = judged.output(guard, self._agent) if isinstance(judged, _Refusal) else judged
            for made in () if guard.stream else events(output):
                yield made
            yield event.model_copy(update={"response": response.model_copy(update={"output": output})})
            held.clear()
        # A stream that ended without a response has said nothing that was judged, but for what went wrong.
        for event in held:
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


def _key(item: Any) -> str:
    """What tells a message from others."""
    kind, sender = kind_of(item)
    return f"{sender} {[piece.key() for piece in joined(pieces_of(item, sender))]}" if kind != "function_call" else ""


def _last(items: list[Any], kind: str, calls: Collection[str]) -> int | None:
    """Where the last item of a kind stands that is of one of these calls."""
    return max((at for at, item in enumerate(items) if get(item, "type") == kind and get(item, "call_id") in calls), default=None)


def _outputs(items: Iterable[Any]) -> list[str]:
    """The calls that have an output."""
    return [str(get(item, "call_id")) for item in items if get(item, "type") == "function_call_output"]


def _reported(items: list[Any]) -> list[str]:
    """The calls whose outputs stand at the end: those of the turn before."""
    calls = []
    for item in reversed(items):
        if get(item, "type") != "function_call_output":
            break
        calls.append(get(item, "call_id"))
    return calls


def _names(handoffs: Iterable[Handoff[Any, Any]]) -> list[str]:
    return [handoff.tool_name for handoff in handoffs]


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


__all__ = ["FORMS", "guard", "tools"]
