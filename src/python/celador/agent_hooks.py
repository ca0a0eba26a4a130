"""Celador for agent-hooks, Microsoft's interface between runtimes and what judges them: an interceptor.

    interceptor = celador.agent_hooks.Interceptor(agent)
    emitter = InterceptionEmitter(resolver=interceptor.resolver(ask))       # `ask` gets the answers of people to reviews
    emitter.register(interceptor)

Inputs, the messages that a model is sent, turns of the model with their texts and all of their calls, calls, results and outputs pass the policies; what
was decided is always a `transform`. `FORMS` has the points and messages that are known. The task has the id of the session. A review is a deny that approval may lift, if `resolver` was called, as the answer has to come to Celador as well: otherwise
the call is refused and taken back. Whatever goes wrong here raises, which hosts of agent-hooks take for a deny.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from agent_hooks import ApprovalOutcome, ApprovalRequest, ApprovalResolution, Decision, Transform, Verdict

from celador import CeladorError
from celador._messages import Form, Piece, as_json, as_text, drop, joined, plain, readable, text_piece, treatment
from celador._steps import KEPT, REFUSED, Admitted, Ask, Given, Hold, Kept, Known, Next, Obligations, Run, Stopped, Tell, Whom, for_user
from celador._turns import Conversation, Tasks

if TYPE_CHECKING:
    from celador import Agent, Review


People: TypeAlias = "Callable[[Sequence[Review]], Sequence[bool | None] | Awaitable[Sequence[bool | None]]]"
"""Asks people for reviews: true for each that is approved, `None` for each that nobody has answered yet."""

_SILENT = ("agent_startup", "agent_shutdown")
_ROLES = ("user", "system", "developer", "assistant", "tool")

FORMS: Sequence[Form] = (
    *(Form(point, "host", "passed", "nobody says anything there") for point in _SILENT),
    *(Form(point, "host", "judged") for point in ("input", "pre_model_call", "post_model_call", "pre_tool_call", "post_tool_call", "output")),
    *(Form(role, "message", "judged", "as an input, if the task has not judged it yet") for role in _ROLES),
    Form("text", "part", "judged"),
    *(Form(kind, "part", "passed", "no text: rules read that it is there") for kind in ("image", "image_url", "audio", "input_audio", "file", "video")),
    Form("tool_calls", "member", "judged", "as calls of a known turn, or their arguments as an input"),
    Form("name", "member", "dropped"),
)
"""Which interception points, messages and parts are known, and what happens to each. What is not here is refused."""


class Interceptor:
    """Judges the interception points of a session."""

    def __init__(self, agent: Agent, *, user: Whom = None, obligations: Obligations | None = None, observe: bool = False) -> None:
        """`user` says for whom the task runs: a user, or a function of the context. `obligations` are functions for the obligations of policies, by
        their ids; a call with another one does not run. `observe` passes points and messages that no rule can read on, and logs them as unjudged, for
        agents that observe."""
        self._tasks = Tasks(agent, user, obligations, observe=observe)
        self._lifted = False

    def intercept(self, context: dict[str, Any], /) -> Any:
        """The verdict, to be awaited: hosts take both, and the protocol of agent-hooks names the plain one alone."""
        return self._intercept(context)

    async def _intercept(self, context: dict[str, Any]) -> Verdict:
        point = str(context.get("interception_point"))
        if point in _SILENT:
            return Verdict.allow()
        conversation = await self._tasks.find(str(context["session"]["id"]), context)
        if conversation.step(treatment, FORMS, "host", point) == "passed":
            return Verdict.allow()
        match point:
            case "pre_tool_call":
                call = context["tool_call"]
                step = await conversation.call_when_free(call["id"], call["name"], call["args"])
                step = await conversation.claim_on_loop(call["id"], step)
                return await conversation.off_loop(self._before, conversation, call, step)
            case "post_tool_call":
                result = context["tool_result"]
                return _after(await conversation.result_and_wake(context["tool_call"]["id"], result["value"], failed=bool(result["is_error"])))
            case "input":
                return await conversation.off_loop(_input, conversation, context)
            case "pre_model_call":
                return await conversation.off_loop(_request, conversation, context)
            case "post_model_call":
                return await conversation.off_loop(_turn, conversation, context)
            case "output":
                return await conversation.off_loop(_output, conversation, context)
            case _:
                raise CeladorError(f"refused: no rule can read the interception point {point!r}", "unknown_form")

    def _before(self, conversation: Conversation, call: dict[str, Any], step: Next) -> Verdict:
        match step:
            case Run(arguments):
                return _target(arguments)
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
        step: Next = Hold(())
        while isinstance(step, (Ask, Hold)) and await self._answer(conversation):
            step = await conversation.call_when_free(call["id"], call["name"], call["args"])
        if isinstance(step, (Ask, Hold)):
            step = await conversation.call_when_free(call["id"], call["name"], call["args"])
        step = await conversation.claim_on_loop(call["id"], step)
        if isinstance(step, Run):
            return ApprovalResolution(ApprovalOutcome.APPROVE, request.context_identity, _target(step.arguments))
        if isinstance(step, (Ask, Hold)):
            conversation.task.withdraw(call["id"])
        message = step.text if isinstance(step, Tell) else "The call is held back, and nobody else is asked."
        return ApprovalResolution(ApprovalOutcome.REJECT, request.context_identity, Verdict.deny(reason="celador:refused", message=message))

    async def _answer(self, conversation: Conversation) -> bool:
        """Asks for all reviews that are open, as no call is let through as long as there is one. Whether somebody has answered one."""
        reviews = await conversation.off_loop(conversation.task.reviews)
        answers = self._ask(reviews) if reviews else []
        given = list(zip(reviews, await answers if inspect.isawaitable(answers) else answers, strict=True))
        for review, approved in given:
            if approved is not None:
                await conversation.off_loop(conversation.answer, review, "approve" if approved else "deny")
        return any(approved is not None for _, approved in given)


def _target(value: Any) -> Verdict:
    return Verdict(Decision.TRANSFORM, transform=Transform("$target", value))


def _stopped(step: Stopped | Kept) -> Verdict:
    return Verdict.deny(reason="celador:stopped" if isinstance(step, Stopped) else "celador:kept", message=step.text if isinstance(step, Stopped) else KEPT)


def _input(conversation: Conversation, context: dict[str, Any]) -> Verdict:
    said = context["input"]
    treatment(FORMS, "message", str(said.get("role")))
    pieces = _pieces(said["content"])
    step = conversation.said(pieces)
    if isinstance(step, Kept):
        conversation.waiting[str([piece.key() for piece in joined(pieces)])] = (step.id, {"role": said["role"], "content": said["content"]})
    if not isinstance(step, Admitted):
        return _stopped(step)
    return _target({"content": _content(step.pieces, said["content"]), "role": said["role"]})


def _request(conversation: Conversation, context: dict[str, Any]) -> Verdict:
    """The messages that the model is sent: each that the task has not judged yet is judged, wherever it stands."""
    known, calls = conversation.known(), dict[str, Any]()
    messages = context["messages"]
    last = max((at for at, message in enumerate(messages) if message.get("role") in ("assistant", "tool")), default=-1)
    result: list[dict[str, Any]] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        role = str(message.get("role"))
        treatment(FORMS, "message", role)
        pieces = _pieces(message.get("content"))
        seen.add(str([piece.key() for piece in joined(pieces)]))
        new: dict[str, Any] = {"role": role}
        if role == "assistant" and message.get("tool_calls"):
            new["tool_calls"] = [_known_call(conversation, call, known) for call in message["tool_calls"]]
            calls.update({str(call["id"]): call for call in new["tool_calls"]})
        if role == "tool":
            new |= {name: message[name] for name in ("tool_call_id", "call_id", "id") if name in message}
            call = calls.get(str(message.get("tool_call_id") or message.get("call_id") or message.get("id")))
            text = plain(pieces)
            told = conversation.told(call["id"], call["name"], call["args"], text) if call else text if conversation.was_told(text) else None
            if told is not None:
                result.append({**new, "content": told})
                continue
        for name in set(message) - set(new) - {"content"}:
            drop(name, role)
        step = conversation.history(pieces, known, {"role": role, "content": message.get("content")}, of_model=role == "assistant", is_new=at > last)
        if not isinstance(step, Admitted) and at > last:
            return _stopped(step)
        content = _content(step.pieces, message.get("content")) if isinstance(step, Admitted) else REFUSED
        result.append({**new, "content": content})
    for key, (_, late) in [*conversation.waiting.items()]:
        if key not in seen:
            came = conversation.take_up(key, _pieces(late["content"]))
            if isinstance(came, Stopped):
                return _stopped(came)
            result += [{"role": late["role"], "content": _content(came.pieces, late["content"])}] if isinstance(came, Admitted) else []
    limits = conversation.task.limits()
    return _target(result) if limits.allowed else Verdict.deny(reason=f"celador:{limits.verdict}", message=for_user(limits))


def _known_call(conversation: Conversation, call: dict[str, Any], known: Known) -> dict[str, Any]:
    """A call in the history, as the task knows it; the name and the arguments of another one are an input."""
    id, name, arguments = str(call.get("id")), str(call.get("name")), as_json(call.get("args", call.get("arguments")) or {})
    if not conversation.knows_call(id, name, arguments) and not conversation.brought(name, arguments, known):
        name, arguments = "refused", {}
    return {"id": id, "name": name, "args": arguments}


def _turn(conversation: Conversation, context: dict[str, Any]) -> Verdict:
    response, usage = context["response"], context.get("usage") or {}
    calls = [{"id": call["id"], "name": call["name"], "args": as_json(call.get("args", call.get("arguments")) or {})} for call in response["tool_calls"]]
    prompt, completion = (
        int(usage.get(key) or usage.get(other) or 0) for key, other in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    )
    pieces = _pieces(response.get("content"))
    ended = None if calls else conversation.turn([], prompt, completion)
    step = conversation.response(pieces) if ended is None else Stopped(for_user(ended))
    if calls:
        reported = [] if isinstance(step, Stopped) else [(call["id"], call["name"], call["args"]) for call in calls]
        ended = conversation.turn(reported, prompt, completion)
        step = step if ended is None else Stopped(for_user(ended))
    if isinstance(step, Stopped):
        return _stopped(step)
    content = _content(step.pieces, response.get("content"))
    return _target({"content": content, "tool_calls": calls, "finish_reason": response.get("finish_reason")})


def _output(conversation: Conversation, context: dict[str, Any]) -> Verdict:
    content = context["output"]["content"]
    pieces = _pieces(content)
    # what the model has said was judged with its turn
    step = Admitted(joined(pieces)) if conversation.known().covers(pieces, of_model=True) else conversation.response(pieces)
    return _stopped(step) if isinstance(step, Stopped) else _target({"content": _content(step.pieces, content)})


def _after(given: Given | Tell) -> Verdict:
    if isinstance(given, Given):
        return _target(given.told)
    return Verdict.deny(reason="celador:withheld", message=given.text)


def _pieces(content: Any) -> list[Piece]:
    """The parts of a message."""
    if content is None or isinstance(content, str):
        return [text_piece(content or "")]
    if not isinstance(content, (list, tuple)):
        return [text_piece(as_text(as_json(content)))]
    pieces: list[Piece] = []
    for part in content:
        if isinstance(part, str):
            pieces.append(text_piece(part))
            continue
        kind = str(part.get("type") or ("text" if "text" in part else "")) if isinstance(part, dict) else type(part).__name__
        if treatment(FORMS, "part", kind) == "judged":
            pieces.append(text_piece(readable(str(part.get("text") or ""))))
        else:
            pieces.append(Piece(kind, None, str(part.get("mime_type") or "application/octet-stream"), part))
    return pieces


def _content(pieces: Sequence[Piece], was: Any) -> Any:
    """The content of a message, made from decided parts: a list where it was one."""
    if not isinstance(was, (list, tuple)):
        return plain(pieces)
    return [{"type": "text", "text": piece.text} if piece.kind == "text" else piece.original for piece in pieces]


__all__ = ["FORMS", "Interceptor", "Resolver"]
