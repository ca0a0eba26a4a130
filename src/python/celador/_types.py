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


class _Origin(TypedDict):
    path: str
    file: str
    line: int
    column: int


class OriginDict(_Origin, total=False):
    """A place in a manifest or policy, as JSON has it; `policy` is the step of a policy document."""

    policy: Mapping[str, Json]


class _ExplainedPart(TypedDict):
    text: str
    outcome: Literal["value", "failed", "failed_below", "asks", "skipped", "round", "rounds", "cut"]


class ExplainedPart(_ExplainedPart, total=False):
    """A part of an expression, with its value as CEL text in `found`, and whether the result of the whole came of it."""

    found: str
    decides: bool
    parts: Sequence[ExplainedPart]


class ExplainedExpression(TypedDict):
    """An expression that was evaluated, under the key where it stands, such as `assert`."""

    key: str
    origin: OriginDict
    tree: ExplainedPart


class _Suggestion(TypedDict):
    text: str


class Suggestion(_Suggestion, total=False):
    """What would have let a call pass: other arguments, or a function that has to be called first. Each was tried."""

    arguments: Json
    first: str


class _ExplainedStep(TypedDict):
    step: str
    action: str
    origin: OriginDict
    outcome: Literal["pass", "fail", "suspend", "skipped", "observed", "not_reached"]


class ExplainedStep(_ExplainedStep, total=False):
    """One step, such as `before[0]`, with its end and its expressions."""

    function: str
    skipped: Literal["condition", "match", "not_first", "already_set"]
    expressions: Sequence[ExplainedExpression]
    why_not: Sequence[Suggestion]


class _ExplainedOperation(TypedDict):
    number: int
    called: str
    decision: str | None
    agent: str
    steps: Sequence[ExplainedStep]


class ExplainedOperation(_ExplainedOperation, total=False):
    """One operation of a case or of a recorded task, and what it went through."""

    message: str
    decided_by: OriginDict
    expressions: Sequence[ExplainedExpression]


class Explained(TypedDict):
    """What operations went through. `findings` is what has kept a case or the recorded task from going on to its end."""

    operations: Sequence[ExplainedOperation]
    findings: Sequence[Mapping[str, Json]]


class _ExplainedDecision(TypedDict):
    decision: Mapping[str, Json]
    steps: Sequence[ExplainedStep]


class ExplainedDecision(_ExplainedDecision, total=False):
    """A decision as JSON, and what it came of. `same` says of a decision of the past whether it is the one that comes out now."""

    same: bool
    expressions: Sequence[ExplainedExpression]


class _TaskEvent(TypedDict):
    version: int
    at: str
    operation: str
    decision: Mapping[str, Json] | None


class TaskEvent(_TaskEvent, total=False):
    """Something that happened to a task, by its number; `reviews` are those that it has closed."""

    reviews: Sequence[Mapping[str, Json]]


class UnknownClause(TypedDict):
    """A clause that is not decided: it may be true, be false or fail."""

    file: str
    line: int
    column: int
    expr: str


class Analysis(TypedDict):
    """How many clauses of asserts, conditions and filters are decided. `contradicted` counts faults of the analysis itself."""

    clauses: int
    decided: int
    contradicted: int
    unknown: Sequence[UnknownClause]


class Outcome(TypedDict):
    """What one side has decided, and the rule by which."""

    verdict: Verdict
    value: Json
    message: str | None
    by: str | None


class Rejection(TypedDict):
    """A reason for which tasks did not reach a rule, and their number."""

    reason: str
    count: int


class Evidence(TypedDict):
    """The tasks of a search, how many of them reached the rule, and why the others did not."""

    tried: int
    reached: int
    rejected: Sequence[Rejection]


class Witness(TypedDict):
    """A task on which two sides differ: user, counters, state and call as a case has them."""

    direction: Literal["stricter", "looser", "otherwise"]
    user: Mapping[str, Json]
    tools: Sequence[Mapping[str, Json]]
    counters: Mapping[str, Json] | None
    state: Sequence[Json]
    call: Mapping[str, Json]
    old: Outcome
    new: Outcome


class OperationDifference(TypedDict):
    """An operation of an agent, and what is known of the difference. `none` is proved, `found` has a witness. `unknown` is neither: no task that was tried shows a difference."""

    agent: str
    operation: Literal["input", "output", "model", "event", "before", "after", "trigger", "schedule", "brought"]
    function: str | None
    difference: Literal["none", "found", "unknown", "added", "removed"]
    method: Literal["identical", "proof", "search"] | None
    evidence: Evidence
    witnesses: Sequence[Witness]


class Differences(TypedDict):
    """Two sets of policies side by side: how many operations `differ`, and of how many it is `unknown`."""

    operations: Sequence[OperationDifference]
    differ: int
    unknown: int


class Grounds(TypedDict):
    """What an invariant rests on: rules, limits, functions of which no call is ever let by, and whether sums of doubles were taken not to be rounded."""

    rules: Sequence[OriginDict]
    limits: Sequence[str]
    never_called: Sequence[str]
    unrounded: bool


# `fn` is no word of Python, and stands here as in a case
class MadeCall(TypedDict):
    """A call of a task that breaks an invariant: what was asked of whom, and what came of it; `late` says that its result came behind all calls."""

    fn: str
    args: Mapping[str, Json]
    reviews: Sequence[Mapping[str, Json]]
    verdict: Verdict
    ran_with: Json
    result: Json
    result_verdict: Verdict | None
    late: bool


class _Beginning(TypedDict, total=False):
    tools: Sequence[Mapping[str, Json]]
    input: Mapping[str, Json]
    counters: Mapping[str, Json]


class BreakingTask(_Beginning):
    """A task that breaks an invariant, call by call; `tools`, `input` and `counters` are there where they are not the simplest ones."""

    user: Mapping[str, Json]
    calls: Sequence[MadeCall]


class Reached(TypedDict):
    """The bounds within which nothing was found."""

    depth: int
    operations: int


class _Proof(TypedDict):
    invariant: str
    text: str | None
    agent: str
    method: Literal["proof", "search"]
    evidence: Evidence


class ProofHolds(_Proof):
    """The invariant is true of every call that the policies let by."""

    answer: Literal["holds"]
    grounds: Grounds


class ProofBroken(_Proof):
    """A task breaks the invariant. `case` is the task as the text of a case."""

    answer: Literal["broken"]
    task: BreakingTask
    case: str


class ProofUnknown(_Proof):
    """It is not proved, and no task was found that breaks it."""

    answer: Literal["unknown"]
    reached: Reached


Proof = Union[ProofHolds, ProofBroken, ProofUnknown]
"""What is known of an invariant, as far as one agent is concerned; `answer` tells which it is."""


class Proofs(TypedDict):
    """What is known of each invariant, and of how many."""

    proofs: Sequence[Proof]
    hold: int
    broken: int
    unknown: int


class _Mutant(TypedDict):
    path: str
    file: str
    line: int
    column: int
    kind: str
    change: str
    noticed_by: str | None


class Mutant(_Mutant, total=False):
    """A small change of a policy, with the case that has noticed it. `case` is the text of one that would, where none does and one was found."""

    case: str


class Mutation(TypedDict):
    """Small changes of policies, and how many of them some case has noticed."""

    noticed: int
    mutants: Sequence[Mutant]
