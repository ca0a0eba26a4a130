"""Celador for Pydantic AI: a capability.

    assistant = Agent(model, tools=tools, capabilities=[celador.pydantic_ai.Guard(agent)], output_type=[str, DeferredToolRequests])

Every part that the model reads, each turn of the model with its texts and all of its calls, and each result pass the policies; `FORMS` has the parts
that are known. Reviews are deferred approvals of Pydantic AI: the run ends with `DeferredToolRequests`, other calls of the turn have run by then, and
`deferred_tool_results` of the next run answer one or more of them (`True`, `ToolApproved(override_args=…)`, `ToolDenied(…)`), in this process or another
one. A prompt that comes meanwhile is kept, and joins the history once they are answered. The task has the id of the conversation.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic_ai import ModelRequestContext, RunContext, UserPromptNode
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, SkipModelRequest, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.tools import DeferredToolResults, Tool, ToolApproved, ToolDefinition, ToolDenied

import celador
from celador._messages import Piece, as_json, as_text, drop, joined, plain, text_piece
from celador._pydantic_parts import FORMS, arguments_of, kind_of, parts_of, prompt_content, prompt_pieces, spoken
from celador._steps import KEPT, REFUSED, Ask, Given, Hold, Kept, Next, Obligations, Run, Stopped, Tell, Whom, for_user
from celador._turns import Conversation, Tasks

if TYPE_CHECKING:
    from celador import Agent
    from celador import Tool as PlainTool
    from pydantic_ai.settings import ModelSettings


class Guard(AbstractCapability[Any]):
    """Holds an agent of Pydantic AI to the policies of an agent of Celador."""

    def __init__(self, agent: Agent, *, user: Whom = None, obligations: Obligations | None = None, observe: bool = False) -> None:
        """`user` says for whom the task runs: a user, or a function of the `RunContext`.

        `obligations` are functions for the obligations of policies, by their ids; a call with another one does not run.

        What the model says is streamed once it was judged as a whole, as a stream cannot be called back. `observe` passes parts that no rule can read on, and logs
        them as unjudged, for agents that observe."""
        self._tasks = Tasks(agent, user, obligations, observe=observe)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        if ctx.conversation_id is None:
            raise ValueError("a run has no conversation_id, so that its task has no id")
        held = copy.copy(self)
        held.__class__ = _Held
        assert isinstance(held, _Held)
        held.conversation = await self._tasks.find(ctx.conversation_id, ctx)
        held.finals, held.validated = set(), {}
        return held


class _Held(Guard):
    """The guard of one run."""

    conversation: Conversation
    finals: set[str]
    """Calls by which the model gives a response that has a type."""
    validated: dict[str, str]
    """The arguments that were validated, by call, as text."""

    # Messages

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        refused = await self.conversation.off_loop(self._admit, request_context.messages, ctx.run_id)
        if refused is not None:
            raise SkipModelRequest(self._answer(refused, request_context.model_request_parameters))
        return request_context

    def _admit(self, messages: list[ModelMessage], run: str | None) -> Stopped | None:
        """Judges each part that the task has not judged yet, wherever it stands: the parts of the history themselves, so that no later request has
        what came. A refused one ends the run if the model has said nothing since."""
        conversation, known, calls = self.conversation, self.conversation.known(), dict[str, ToolCallPart]()
        last = max((at for at, message in enumerate(messages) if isinstance(message, ModelResponse)), default=-1)
        stopped: Stopped | None = None
        for at, message in enumerate(messages):
            if isinstance(message, ModelResponse):
                self._look_at_response(message, known, calls)
                continue
            if message.instructions and (run is None or message.run_id != run):
                drop("instructions", "history")
                message.instructions = None
            if at == len(messages) - 1:
                conversation.withdraw_stuck(part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart))
            parts: list[Any] = []
            for part in message.parts:
                step = self._look_at(part, known, calls, of_run=run is not None and message.run_id == run)
                if isinstance(step, Stopped):
                    stopped = stopped or (step if at > last else None)
                    setattr(part, "content", REFUSED)  # noqa: B010  # the parts that can be refused have one
                elif isinstance(step, Kept):
                    stopped = stopped or Stopped(KEPT)
                parts.append(part)
            message.parts = parts
        stopped = stopped or self._join(messages)
        if stopped is None and not (limits := conversation.task.limits()).allowed:
            return Stopped(for_user(limits))
        return stopped

    def _look_at(self, part: Any, known: Any, calls: dict[str, ToolCallPart], *, of_run: bool) -> Stopped | Kept | None:
        kind = kind_of(part, "request")
        conversation = self.conversation
        if kind == "user-prompt":
            pieces = joined(prompt_pieces(part.content))
        elif kind in ("tool-return", "retry-prompt", "system-prompt", "retry-feedback"):
            content = part.model_response() if kind.startswith("retry") else part.content
            call = calls.get(getattr(part, "tool_call_id", ""))
            text = as_text(as_json(content)) if kind == "tool-return" else str(content)
            if call is not None:
                told = conversation.told(call.tool_call_id, call.tool_name, arguments_of(call), text)
                if told is not None:
                    if told != text:
                        part.content = told
                    return None
                if call.tool_call_id in self.finals:
                    return None  # what Pydantic AI says of a typed response
            elif of_run and kind in ("system-prompt", "retry-feedback"):
                conversation.own_input(text)
                return None
            pieces = [text_piece(text)]
        else:
            return None
        key = str([piece.key() for piece in pieces])
        if key in conversation.waiting:
            step = conversation.kept(conversation.waiting.pop(key)[0], pieces)
        elif known.covers(pieces, of_model=False):
            return None
        else:
            step = conversation.said(pieces)
        if isinstance(step, Kept):
            conversation.waiting[key] = (step.id, part)
            return step
        if isinstance(step, Stopped):
            return step
        part.content = prompt_content(step.pieces) if kind == "user-prompt" else plain(step.pieces)
        return None

    def _look_at_response(self, message: ModelResponse, known: Any, calls: dict[str, ToolCallPart]) -> None:
        """A response in the history. What the task does not know of it was brought by the caller, and is an input."""
        pieces = joined(spoken(message.parts))
        brought = False
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part
                brought = brought or not (part.tool_call_id in self.finals or self.conversation.knows_call(part.tool_call_id, part.tool_name, arguments_of(part)))
        if brought:
            pieces = [*pieces, *(text_piece(f"{part.tool_name} {as_text(arguments_of(part))}") for part in message.parts if isinstance(part, ToolCallPart))]
        if not known.covers(pieces, of_model=not brought):
            step = self.conversation.said(pieces)
            if isinstance(step, (Stopped, Kept)) or [piece.key() for piece in step.pieces] != [piece.key() for piece in joined(pieces)]:
                texts = [text_piece(REFUSED)] if isinstance(step, (Stopped, Kept)) else step.pieces
                for part in message.parts:
                    if isinstance(part, ToolCallPart) and brought:
                        part.tool_name, part.args = "refused", {}
                message.parts = parts_of(message, texts if not brought else [text_piece(REFUSED)])

    def _join(self, messages: list[ModelMessage]) -> Stopped | None:
        """Puts what was kept behind the newest message, once it is decided."""
        newest = messages[-1]
        here = {id(part) for message in messages if isinstance(message, ModelRequest) for part in message.parts}
        for key, (kept, part) in [*self.conversation.waiting.items()]:
            if id(part) in here:
                continue
            pieces = joined(prompt_pieces(part.content))
            step = self.conversation.kept(kept, pieces) if kept else self.conversation.said(pieces)
            if isinstance(step, Kept):
                self.conversation.waiting[key] = (step.id, part)
                return Stopped(KEPT)
            del self.conversation.waiting[key]
            content = REFUSED if isinstance(step, Stopped) else prompt_content(step.pieces)
            newest.parts = [*newest.parts, UserPromptPart(content)]
            _kept_with(messages).pop(key, None)
            if isinstance(step, Stopped):
                return step
        return None

    def get_wrapper_model(self, model: Model) -> Model | None:
        return _Model(model, self)

    def judge(self, response: ModelResponse, parameters: ModelRequestParameters) -> ModelResponse:
        """Reports a turn; what comes back is what the model has said as far as the agent may know it."""
        finals = {tool.name for tool in parameters.output_tools}
        asked = [part for part in response.parts if isinstance(part, ToolCallPart)]
        calls = [(part.tool_call_id, part.tool_name, arguments_of(part)) for part in asked if part.tool_name not in finals]
        pieces = joined(spoken(response.parts))
        typed = [part for part in asked if part.tool_name in finals]
        self.finals |= {part.tool_call_id for part in typed}
        pieces += [Piece("structured", as_text(arguments_of(part)), original=part) for part in typed]
        used = (response.usage.input_tokens, response.usage.output_tokens)
        ended = None if calls else self.conversation.turn([], *used)
        decided = self.conversation.response(pieces) if ended is None else Stopped(for_user(ended))
        if calls:
            ended = self.conversation.turn([] if isinstance(decided, Stopped) else calls, *used)
            decided = decided if ended is None else Stopped(for_user(ended))
        if isinstance(decided, Stopped):
            return self._answer(decided, parameters)
        if [piece.key() for piece in decided.pieces if piece.kind == "structured"] != [piece.key() for piece in pieces if piece.kind == "structured"]:
            raise ValueError("a policy rewrites responses of this agent, and they have a type: it can only refuse them")
        response.parts = parts_of(response, decided.pieces)
        return response

    def _answer(self, stopped: Stopped, parameters: ModelRequestParameters) -> ModelResponse:
        """The message in the place of the model's. An agent that has to end with a value of a type has no place for one: its run ends with `Denied`."""
        if not parameters.allow_text_output:
            raise celador.Denied(stopped.decision) if stopped.decision is not None else celador.CeladorError(stopped.text, "stopped")
        return ModelResponse([TextPart(self.conversation.own(stopped.text))], model_name="celador")

    # Calls

    async def before_tool_validate(self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any) -> Any:
        step = await self.conversation.off_loop(self._step, ctx, call)
        arguments = step.arguments if isinstance(step, Run) else arguments_of(call)
        self.validated[call.tool_call_id] = as_text(arguments)
        return arguments

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], handler: Any
    ) -> Any:
        conversation, id = self.conversation, call.tool_call_id
        if ctx.tool_call_approved:
            step = await conversation.off_loop(self._step, ctx, call)
        else:
            step = await conversation.call_when_free(id, call.tool_name, arguments_of(call))
        step = await conversation.claim_on_loop(id, step)
        match step:
            case Tell(text, failed):
                if failed:
                    raise ToolFailed(text)
                return text
            case Ask(review):
                raise ApprovalRequired({"review": review.id, "reviewer": review.reviewer, "text": review.text, "arguments": review.arguments})
            case Hold(waits_for):
                raise ApprovalRequired({"waits_for": list(waits_for)})
        # what was validated is what was decided, to the sign, or is replaced
        decided = args if self.validated.pop(id, None) == as_text(step.arguments) else step.arguments
        try:
            output = await handler(decided)
        except Exception as error:
            await conversation.result_and_wake(id, type(error).__name__, failed=True)
            raise
        except BaseException:
            conversation.cancelled(id)
            raise
        given = await conversation.result_and_wake(id, output)
        if isinstance(given, Given):
            return given.told
        raise ToolFailed(given.text)

    def _step(self, ctx: RunContext[Any], call: ToolCallPart) -> Next:
        """How far a call is. One that was approved may have the arguments of its reviewer by now."""
        if ctx.tool_call_approved:
            return self.conversation.call_as_it_is(call.tool_call_id)
        return self.conversation.call(call.tool_call_id, call.tool_name, arguments_of(call))

    # Reviews

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        if isinstance(node, UserPromptNode):
            await self.conversation.off_loop(self._begin, node, ctx.messages)
        return node

    def _begin(self, node: UserPromptNode[Any, Any], messages: Sequence[ModelMessage]) -> None:
        """Passes on what people have answered, and has all calls without a result tried again, as Pydantic AI wants a word on each. A prompt that
        comes with them, or while people are asked, comes behind their results, in whichever run that is."""
        for key, (kept, content) in _kept_with(messages).items():
            self.conversation.waiting.setdefault(key, (kept, UserPromptPart(content)))
        waiting = [call for call in _without_result(messages) if self.conversation.knows(call)]
        if not waiting:
            return
        answers = node.deferred_tool_results or DeferredToolResults()
        self._pass_on(answers)
        for call in waiting:
            if call not in answers.calls:
                answers.approvals.setdefault(call, True)  # no approval: the task alone knows of these
        node.deferred_tool_results = answers
        if node.user_prompt is None:
            return
        pieces = joined(prompt_pieces(node.user_prompt))
        step = self.conversation.said(pieces) if self.conversation.task.reviews() else None
        kept = step.id if isinstance(step, Kept) else ""
        key = str([piece.key() for piece in pieces])
        self.conversation.waiting[key] = (kept, UserPromptPart(node.user_prompt))
        response = next(message for message in reversed(messages) if isinstance(message, ModelResponse))
        if all(piece.text is not None for piece in pieces):
            response.metadata = {**(response.metadata or {}), _KEPT: {**_kept_with(messages), key: (kept, plain(pieces))}}
        node.user_prompt = None

    def _pass_on(self, answers: DeferredToolResults) -> None:
        """Tells the task what people have answered. All of it, ahead of the first call that goes on: a denial runs no tool."""
        for call, review in self.conversation.open_reviews(answers.approvals).items():
            match answers.approvals[call]:
                case ToolApproved(override_args=dict() as arguments):
                    self.conversation.answer(review, "edit", arguments=arguments)
                case True | ToolApproved():
                    self.conversation.answer(review, "approve")
                case ToolDenied(message):
                    self.conversation.answer(review, "deny", note=message)
                case _:
                    self.conversation.answer(review, "deny")
        for call, answer in answers.approvals.items():
            step = self.conversation.call_as_it_is(call) if self.conversation.knows(call) else None
            if isinstance(answer, ToolDenied) or answer is False:
                # what the task says of the denial, with the reviewer's note
                answers.approvals[call] = ToolDenied(step.text) if isinstance(step, Tell) else answer


class _Model(WrapperModel):
    """The model of a run. It judges what comes back, as no later hook can take back what was streamed."""

    def __init__(self, wrapped: Model, guard: _Held) -> None:
        super().__init__(wrapped)
        self._guard = guard

    async def request(
        self, messages: list[ModelMessage], model_settings: ModelSettings | None, model_request_parameters: ModelRequestParameters
    ) -> ModelResponse:
        response = await self.wrapped.request(messages, model_settings, model_request_parameters)
        return await self._judged(response, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        async with self.wrapped.request_stream(messages, model_settings, model_request_parameters, run_context) as stream:
            async for _ in stream:
                pass
            response = await self._judged(stream.get(), model_request_parameters)
        yield CompletedStreamedResponse(response, model_request_parameters=model_request_parameters, replay_events=True)

    async def _judged(self, response: ModelResponse, parameters: ModelRequestParameters) -> ModelResponse:
        return await self._guard.conversation.off_loop(self._guard.judge, response, parameters)


def tools(tools: Iterable[Tool[Any]]) -> list[PlainTool]:
    """Tools of Pydantic AI as `celador.agent_for` takes them."""
    return [{"name": tool.name, "description": tool.description, "inputSchema": tool.function_schema.json_schema} for tool in tools]


_KEPT = "celador_kept"


def _without_result(messages: Sequence[ModelMessage]) -> list[str]:
    """The calls of the last response that have no result."""
    last = max((at for at, message in enumerate(messages) if isinstance(message, ModelResponse)), default=-1)
    if last < 0:
        return []
    answered = {getattr(part, "tool_call_id", None) for message in messages[last + 1 :] for part in message.parts}
    return [part.tool_call_id for part in messages[last].parts if isinstance(part, ToolCallPart) and part.tool_call_id not in answered]


def _kept_with(messages: Iterable[ModelMessage]) -> dict[str, Any]:
    """The prompts that were kept, as the history has them beside its responses."""
    found: dict[str, Any] = {}
    for message in messages:
        if isinstance(message, ModelResponse) and message.metadata and _KEPT in message.metadata:
            found = message.metadata[_KEPT]
    return found


__all__ = ["FORMS", "Guard", "tools"]
