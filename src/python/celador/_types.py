"""The types of what goes in and comes out: plain values, with names for checkers and readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, Union

Json = Any
"""A value of JSON: `None`, `bool`, `int`, `float`, `str`, a list or tuple of such values, a mapping of texts to them.

A number is 64 bits wide and finite, a text is valid Unicode, and nesting is bounded. What comes out is new each time: to change it changes
nothing else."""

Source = Union[str, "PathLike[str]", Mapping[str, str]]
"""Manifests and policies: the path of a file or of a folder to be searched, or texts by their names."""

Verdict = Literal[
    "allow",
    "block",
    "lock_task",
    "suspend",
    "wait",
    "respond",
    "terminate",
    "rejected",
    "invalid_input",
    "error",
    "route",
    "discard",
]
"""Whether a step may go on, and otherwise why not."""

Scope = Literal[
    "before",
    "after",
    "guardrail_before",
    "guardrail_after",
    "model_before",
    "model_after",
    "binding",
    "exposes",
    "cel_tool",
    "filter",
    "trigger",
]
"""What an expression may name: that of a step before or after a call, of a guardrail of inputs or responses, and so on."""

Status = Literal["successful", "errored", "unrecoverable"]
"""Whether a tool worked; `unrecoverable` ends the task."""

ReviewState = Literal["open", "approved", "denied", "edited", "responded", "expired", "withdrawn"]
"""Whether a review is open, and otherwise what became of it."""

Kind = Literal["call", "input", "event", "output", "model"]
"""The kinds of operations that can wait."""


class _User(TypedDict):
    id: str


class User(_User, total=False):
    """For whom a task runs. A text in its place is the id alone."""

    email: str | None
    claims: Mapping[str, Json] | None


class _Person(TypedDict):
    id: str


class Person(_Person, total=False):
    """Who answers a review. A text in its place is the id or the e-mail address."""

    email: str | None
    groups: Sequence[str]


class _Tool(TypedDict):
    name: str
    inputSchema: Mapping[str, Json]


class Tool(_Tool, total=False):
    """A tool as `tools/list` of MCP has it. Members that are not named here are not looked at."""

    title: str | None
    description: str | None
    outputSchema: Mapping[str, Json] | None
    annotations: Mapping[str, Json] | None


class _CallRequest(TypedDict):
    function: str


class CallRequest(_CallRequest, total=False):
    """A call that the model asks for, as it stands in a turn."""

    arguments: Mapping[str, Json]
    id: str | None


class _CallReport(TypedDict):
    call: str


class CallReport(_CallReport, total=False):
    """What a call came to, as it stands among results."""

    output: Json
    status: Status


# `is` is a word of Python, so that a class cannot have it
_FlipKind = TypedDict(
    "_FlipKind",
    {"operation": str, "was": Verdict, "is": Verdict, "count": int, "task": str, "step": int},
)


class Flip(_FlipKind, total=False):
    """One kind of difference: what was decided, what is decided now, how often, and where first.

    `is` is the verdict now, `was_by` and `is_by` say what decided, `function` is that of a call, and `other_value` says that both let it go on
    with other values."""

    function: str
    was_by: str
    is_by: str
    other_value: bool


class Replayed(TypedDict):
    """What came of judging recorded tasks anew."""

    decisions: int
    tasks: int
    flips: int
    not_judged: Mapping[str, int]
    rows: Sequence[Flip]
    left_out: int
