"""Celador for agent-hooks, Microsoft's interface between runtimes and what judges them: an interceptor.

    interceptor = celador.agent_hooks.Interceptor(agent)
    emitter = InterceptionEmitter(resolver=interceptor.resolver(ask))       # `ask` gets the answers of people to reviews
    emitter.register(interceptor)

Inputs, turns of the model with all of their calls, calls, results and outputs pass the policies; what a policy rewrites is a `transform`. The task has
the id of the session. A review is a deny that approval may lift, if `resolver` was called, as the answer has to come to Celador as well: otherwise
the call is refused and taken back. Whatever goes wrong here raises, which hosts of agent-hooks take for a deny.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from agent_hooks import ApprovalOutcome, ApprovalRequest, ApprovalResolution, Decision, Transform, Verdict

from celador._turns import Ask, Conversation, Given, Hold, Next, Obligations, Run, Tasks, Tell, Whom, as_json, for_user

if TYPE_CHECKING:
    import celador
    from celador import Agent, Review


People: TypeAlias = "Callable[[Sequence[Review]], Sequence[bool] | Awaitable[Sequence[bool]]]"
"""Asks people for reviews: true for each that is approved."""


class Interceptor:
    """Judges the interception points of a session."""

    def __init__(self, agent: Agent, *, user: Whom = None, obligations: Obligations | None = None) -> None:
        """`user` says for whom the task runs: a user, or a function of the context. `obligations` are functions for the obligations of policies, by
        their ids; a call with another one does not run."""
        self._tasks = Tasks(agent, user, obligations)
        self._lifted = False

    def intercept(self, context: dict[str, Any], /) -> Any:
        """The verdict, to be awaited: hosts take both, and the protocol of agent-hooks names the plain one alone."""
        return self._intercept(context)

    async def _intercept(self, context: dict[str, Any]) -> Verdict:
        conversation = await self._tasks.find(str(context["session"]["id"]), context)
        match context["interception_point"]:
            case "pre_tool_call":
                call = context["tool_call"]
                step = await conversation.call_when_free(call["id"], call["name"], call["args"])
                if isinstance(step, Run):
                    await conversation.begin(step)
                return await conversation.off_loop(self._before, conversation, call, step)
            case "post_tool_call":
                result = context["tool_result"]
                return _after(await conversation.result_and_wake(context["tool_call"]["id"], result["value"], failed=bool(result["is_error"])))
            case "input":
                return await conversation.off_loop(_input, conversation, context)
            case "pre_model_call":
                return _judged(await conversation.off_loop(conversation.task.limits))
            case "post_model_call":
                return await conversation.off_loop(_turn, conversation, context)
            case "output":
                return await conversation.off_loop(_output, conversation, context)
            case _:
                return Verdict.allow()

    def _before(self, conversation: Conversation, call: dict[str, Any], step: Next) -> Verdict:
        match step:
            case Run(arguments):
                return _target(arguments, call["args"])
            case Tell(text, _):
                return Verdict.deny(reason="celador:refused", message=text)
            case Ask(review) if self._lifted:
                return Verdict.escalate(reason="celador:review", message=review.text or f"{review.reviewer} is asked")
            case Ask(review):
                conversation.task.withdraw(call["id"])
                return Verdict.deny(reason="celador:review", message=f"{review.reviewer} would have to approve this call, and nobody is asked here.")
            case _:
                conversation.withdraw_stuck([call["id"]])
                return Verdict.deny(reason="celador:waits", message=f"This call has to wait for others: {', '.join(step.waits_for)}.")

    def resolver(self, ask: People) -> Resolver:
        """The resolver for the emitter's approval seam. `ask` gets all reviews that are open, and gives the answers of people to them. From now on
        reviews are denies that approval may lift."""
        self._lifted = True
        return Resolver(self._tasks, ask)


class Resolver:
    """Answers reviews: a call goes on if the policy lets it through once the answer is in."""

    def __init__(self, tasks: Tasks, ask: People) -> None:
        self._tasks = tasks
        self._ask = ask

    def resolve(self, request: ApprovalRequest, /) -> Any:
        """The resolution, to be awaited."""
        return self._resolve(request)

    async def _resolve(self, request: ApprovalRequest) -> ApprovalResolution:
        context = request.context
        conversation = await self._tasks.find(str(context["session"]["id"]), context)
        call = context["tool_call"]
        # All that are open: no call is let through as long as there is one.
        reviews = await conversation.off_loop(conversation.task.reviews)
        if reviews:
            answers = self._ask(reviews)
            for review, approved in zip(reviews, await answers if inspect.isawaitable(answers) else answers, strict=True):
                await conversation.off_loop(conversation.answer, review, "approve" if approved else "deny")
        step = await conversation.call_when_free(call["id"], call["name"], call["args"])
        if isinstance(step, Run):
            await conversation.begin(step)
            return ApprovalResolution(ApprovalOutcome.APPROVE, request.context_identity, _target(step.arguments, call["args"]))
        if isinstance(step, (Ask, Hold)):
            conversation.task.withdraw(call["id"])
        message = step.text if isinstance(step, Tell) else "The call is held back, and nobody else is asked."
        return ApprovalResolution(ApprovalOutcome.REJECT, request.context_identity, Verdict.deny(reason="celador:refused", message=message))


def _target(value: Any, was: Any) -> Verdict:
    return Verdict.allow() if value == was else Verdict(Decision.TRANSFORM, transform=Transform("$target", value))


def _judged(decision: celador.Decision) -> Verdict:
    return Verdict.allow() if decision.allowed else Verdict.deny(reason=f"celador:{decision.verdict}", message=for_user(decision))


def _message(decision: celador.Decision, content: Any) -> Verdict:
    """A message, with the text that is admitted of it."""
    if not decision.allowed or decision.text is None or decision.text == content:
        return _judged(decision)
    return Verdict(Decision.TRANSFORM, transform=Transform("$target.content", decision.text))


def _input(conversation: Conversation, context: dict[str, Any]) -> Verdict:
    said = context["input"]
    return Verdict.allow() if said.get("role") != "user" else _message(conversation.input(_text(said["content"])), said["content"])


def _turn(conversation: Conversation, context: dict[str, Any]) -> Verdict:
    usage = context.get("usage") or {}
    calls = [(call["id"], call["name"], call.get("args", call.get("arguments")) or {}) for call in context["response"]["tool_calls"]]
    prompt, completion = (
        int(usage.get(key) or usage.get(other) or 0) for key, other in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    )
    ended = conversation.turn(calls, prompt, completion)
    return Verdict.allow() if ended is None else _judged(ended)


def _output(conversation: Conversation, context: dict[str, Any]) -> Verdict:
    content = context["output"]["content"]
    return _message(conversation.output(_text(content)), content)


def _after(given: Given | Tell) -> Verdict:
    if isinstance(given, Given):
        return Verdict(Decision.TRANSFORM, transform=Transform("$target", given.value)) if given.changed else Verdict.allow()
    return Verdict.deny(reason="celador:withheld", message=given.text)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in as_json(content) or ())


__all__ = ["Interceptor", "Resolver"]
