"""Celador for Pydantic AI: a capability.

    assistant = Agent(model, tools=tools, capabilities=[celador.pydantic_ai.Guard(agent)], output_type=[str, DeferredToolRequests])

What the user says, each turn of the model with all of its calls, each result and the final response pass the policies. Reviews are deferred
approvals of Pydantic AI: the run ends with `DeferredToolRequests`, other calls of the turn have run by then, and `deferred_tool_results` of the
next run answer (`True`, `ToolApproved(override_args=…)`, `ToolDenied(…)`), in this process or another one. The task has the id of the conversation.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic_ai import ModelRequestContext, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, SkipModelRequest, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.tools import DeferredToolResults, Tool, ToolApproved, ToolDefinition, ToolDenied

import celador
from celador._turns import REFUSED, Ask, Conversation, Given, Hold, Next, Obligations, Run, Tasks, Tell, Whom, as_text, for_user

if TYPE_CHECKING:
    from celador import Agent, Decision
    from celador import Tool as PlainTool
    from pydantic_ai.settings import ModelSettings


class Guard(AbstractCapability[Any]):
    """Holds an agent of Pydantic AI to the policies of an agent of Celador."""

    def __init__(self, agent: Agent, *, user: Whom = None, obligations: Obligations | None = None) -> None:
        """`user` says for whom the task runs: a user, or a function of the `RunContext`.

        `obligations` are functions for the obligations of policies, by their ids; a call with another one does not run.

        What the model says is streamed once it was judged as a whole, as a stream cannot be called back."""
        self._tasks = Tasks(agent, user, obligations)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        if ctx.conversation_id is None:
            raise ValueError("a run has no conversation_id, so that its task has no id")
        held = copy.copy(self)
        held.__class__ = _Held
        assert isinstance(held, _Held)
        held.conversation = await self._tasks.find(ctx.conversation_id, ctx)
        return held


class _Held(Guard):
    """The guard of one run."""

    conversation: Conversation

    # Messages

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        refused = await self.conversation.off_loop(self._admit, request_context.messages)
        if refused is not None:
            raise SkipModelRequest(_answer(refused, request_context.model_request_parameters))
        return request_context

    def _admit(self, messages: list[ModelMessage]) -> Decision | None:
        newest = messages[-1]
        if isinstance(newest, ModelRequest):
            self.conversation.withdraw_stuck(part.tool_call_id for part in newest.parts if isinstance(part, ToolReturnPart))
            for part in newest.parts:
                text = _text(part) if isinstance(part, UserPromptPart) else None
                if not isinstance(part, UserPromptPart) or not text:
                    continue
                decision = self.conversation.input(text)
                if not decision.allowed:
                    part.content = REFUSED
                    return decision
                if decision.text is not None and decision.text != text:
                    part.content = decision.text  # the part of the history, so that no later request has what was said
        limits = self.conversation.task.limits()
        return None if limits.allowed else limits

    def get_wrapper_model(self, model: Model) -> Model | None:
        return _Model(model, self)

    def judge(self, response: ModelResponse, parameters: ModelRequestParameters) -> ModelResponse:
        """Reports a turn; what comes back is what the model has said as far as the agent may know it."""
        finals = {tool.name for tool in parameters.output_tools}
        asked = [part for part in response.parts if isinstance(part, ToolCallPart)]
        calls = [(part.tool_call_id, part.tool_name, part.args_as_dict()) for part in asked if part.tool_name not in finals]
        ended = self.conversation.turn(calls, response.usage.input_tokens, response.usage.output_tokens)
        if ended is not None:
            return _answer(ended, parameters)
        if calls:
            return response
        final = next((part for part in asked if part.tool_name in finals), None)
        text = as_text(final.args_as_dict()) if final else "".join(part.content for part in response.parts if isinstance(part, TextPart))
        decision = self.conversation.output(text)
        if not decision.allowed:
            return _answer(decision, parameters)
        if decision.text is None or decision.text == text:
            return response
        if final is not None:
            raise ValueError("a policy rewrites responses of this agent, and they have a type: it can only refuse them")
        response.parts = [part for part in response.parts if not isinstance(part, TextPart)] + [TextPart(decision.text)]
        return response

    # Calls

    async def before_tool_validate(self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any) -> Any:
        step = await self.conversation.off_loop(self._step, ctx, call)
        return step.arguments if isinstance(step, Run) else args

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], handler: Any
    ) -> Any:
        conversation, id = self.conversation, call.tool_call_id
        if ctx.tool_call_approved:
            step = await conversation.off_loop(self._step, ctx, call)
        else:
            step = await conversation.call_when_free(id, call.tool_name, call.args_as_dict())
        match step:
            case Tell(text, failed):
                if failed:
                    raise ToolFailed(text)
                return text
            case Ask(review):
                raise ApprovalRequired({"review": review.id, "reviewer": review.reviewer, "text": review.text, "arguments": review.arguments})
            case Hold(waits_for):
                raise ApprovalRequired({"waits_for": list(waits_for)})
        await conversation.begin(step)
        said = call.args_as_dict()
        changed = {name: value for name, value in step.arguments.items() if said.get(name) != value and args.get(name) != value}
        try:
            output = await handler({**args, **changed})
        except Exception as error:
            await conversation.result_and_wake(id, type(error).__name__, failed=True)
            raise
        except BaseException:
            conversation.cancelled(id)
            raise
        given = await conversation.result_and_wake(id, output)
        if isinstance(given, Given):
            return given.value if given.changed else output
        raise ToolFailed(given.text)

    def _step(self, ctx: RunContext[Any], call: ToolCallPart) -> Next:
        """How far a call is. One that was approved may have the arguments of its reviewer by now."""
        if ctx.tool_call_approved:
            return self.conversation.call_as_it_is(call.tool_call_id)
        return self.conversation.call(call.tool_call_id, call.tool_name, call.args_as_dict())

    # Reviews

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        answers = getattr(node, "deferred_tool_results", None)
        if isinstance(answers, DeferredToolResults):
            await self.conversation.off_loop(self._pass_on, answers)
        return node

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


def _answer(decision: Decision, parameters: ModelRequestParameters) -> ModelResponse:
    """The message in the place of the model's. An agent that has to end with a value of a type has no place for one: its run ends with `Denied`."""
    if not parameters.allow_text_output:
        raise celador.Denied(decision)
    return ModelResponse([TextPart(for_user(decision))], model_name="celador")


def _text(part: UserPromptPart) -> str:
    return part.content if isinstance(part.content, str) else "".join(item for item in part.content if isinstance(item, str))


__all__ = ["Guard", "tools"]
