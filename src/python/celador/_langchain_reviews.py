"""Reviews as interrupts of LangGraph, in the form of `HumanInTheLoopMiddleware`.

In: open reviews. Out: the value of an interrupt, and the answers to it, held to a schema and passed on to the task. All reviews of a turn are one
interrupt, or each is one of its call's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, cast

from langchain_core.messages import ToolCall
from langgraph.config import get_config
from langgraph.types import interrupt
from pydantic import AfterValidator

from celador._langchain_messages import id_of
from celador._steps import Ask, Next
from celador._turns import Conversation

if TYPE_CHECKING:
    from celador import Review


def latest(reviews: Iterable[Review], calls: list[str], done: set[str]) -> list[Review]:
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


def ask(reviews: list[Review]) -> list[Any]:
    """The decisions about these reviews, as an interrupt. LangGraph holds an answer to the schema before it keeps it, so that one which does not fit may
    be given again."""
    schema = cast("type[dict[str, Any]]", Annotated[dict[str, Any], AfterValidator(_fitting(reviews))])
    return list(interrupt(_request(reviews), response_schema=schema)["decisions"])


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


def answered(conversation: Conversation, call: ToolCall, step: Next) -> Next:
    """How far a call is once its review is answered, by an interrupt of its own. Interrupts are told apart by their places in the task of LangGraph that
    the call is, so one that was answered keeps its place ahead of those of the tool itself."""
    place = 0
    while isinstance(step, Ask) or _has_answer(place):
        asked = [step.review] if isinstance(step, Ask) else []
        # a place that has an answer is passed without asking again
        decisions = ask(asked) if asked else interrupt(_request(asked))["decisions"]
        for review, decision in zip(asked, decisions, strict=False):
            if decision is None:
                return step
            pass_on(conversation, review, decision)
        place += 1
        if asked:
            step = conversation.call(id_of(call), call["name"], call["args"])
    return step


def is_alone() -> bool:
    """Whether LangGraph runs the call as a task of its own, as it does behind the model. Calls that are tried again share one task, in which answers to
    interrupts could not be told apart: their reviews are asked together, by `before_model`."""
    path = get_config().get("metadata", {}).get("langgraph_path") or ()
    return "__pregel_push" in path


def _has_answer(place: int) -> bool:
    """Whether the interrupt at this place of the task has an answer to a review. LangGraph has no other way to ask, and says nothing of the next one."""
    given = getattr(get_config().get("configurable", {}).get("__pregel_scratchpad"), "resume", ())
    return place < len(given) and isinstance(given[place], dict) and isinstance(given[place].get("decisions"), list)


def pass_on(conversation: Conversation, review: Review, decision: dict[str, Any]) -> None:
    match decision["type"]:
        case "approve":
            conversation.answer(review, "approve")
        case "edit":
            conversation.answer(review, "edit", arguments=decision["edited_action"]["args"])
        case "respond":
            conversation.answer(review, "respond", result=decision["message"])
        case _:
            conversation.answer(review, "deny", note=decision.get("message"))


__all__ = ["answered", "ask", "is_alone", "latest", "pass_on"]
