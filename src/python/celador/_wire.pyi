"""The dictionaries that decisions, reviews and diagnostics give, by the OpenAPI document (.ci/python-types)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired

Caller: TypeAlias = Literal['model', 'middleware']


class CounterUse(TypedDict):
    """
    A counter that a decision has read, or that a call of the model was counted on.
    """

    policy: str
    name: str
    counted: NotRequired[str]
    adds: NotRequired[str]
    observed: NotRequired[bool]


DecidedKind: TypeAlias = Literal['call', 'input', 'event', 'output', 'model']


EventStage: TypeAlias = Literal['inactive', 'signature', 'payload', 'filter', 'before', 'after', 'guardrails']


class Hidden(TypedDict):
    """
    The places and texts of a decision that views mask. It holds no secret itself.
    """

    value: NotRequired[list[str]]
    exposes: NotRequired[list[str]]
    message: NotRequired[str]
    user_message: NotRequired[str]


LimitNumber: TypeAlias = int | str


class PolicyException(TypedDict):
    """
    An exception as decisions, logs and explanations name it.
    """

    path: str
    until: str
    reason: str


class ReadMount(TypedDict):
    path: str


class Question3(TypedDict):
    """
    Read a file; answer with `text`, or `failed` if there is none.
    """

    read_mount: ReadMount


class WriteMount(TypedDict):
    path: str
    text: str


class Question4(TypedDict):
    """
    Write a file; answer with `written`.
    """

    write_mount: WriteMount


class MeasureFile(TypedDict):
    path: str


class Question5(TypedDict):
    """
    Say how large a file is that a script refers to; answer with `size`, or `failed` if that cannot be said.
    """

    measure_file: MeasureFile


ReviewChoice: TypeAlias = Literal['approve', 'deny', 'edit', 'respond']


class ReviewProgress(TypedDict):
    """
    How far a panel has come.
    """

    approved: int
    needed: int


class ReviewRule(TypedDict):
    """
    The place of the rule that asks.
    """

    expression: str | None
    file: str
    line: int
    column: int


class ReviewSeats(TypedDict):
    """
    People of whom some have to approve.
    """

    any_of: list[str]
    at_least: int


ReviewState: TypeAlias = Literal['open', 'approved', 'denied', 'edited', 'responded', 'expired', 'withdrawn']


class ReviewedAgent(TypedDict):
    """
    The agent whose task asks.
    """

    namespace: str
    name: str


class ReviewedBy(TypedDict):
    """
    Who answered a review.
    """

    issuer: str | None
    subject: str
    email: str | None


class ReviewedUser(TypedDict):
    """
    The person for whom the task runs that asks.
    """

    id: str
    email: str | None


Severity: TypeAlias = Literal['warning', 'error']


Severity2: TypeAlias = Literal['info', 'low', 'medium', 'high', 'critical']


StepKind: TypeAlias = Literal['assert', 'invoke', 'transform', 'label', 'declassify', 'label_task', 'unlabel_task', 'set', 'respond', 'delay', 'obligations', 'credential']


StepOutcome: TypeAlias = Literal['pass', 'fail', 'suspend']


class Switch1(TypedDict):
    """
    All tasks of an agent, and delegations to it.
    """

    kind: Literal['agent']
    namespace: str
    name: str


class Switch2(TypedDict):
    """
    A tool, whichever agent calls it, and its events.
    """

    kind: Literal['tool']
    namespace: str
    name: str
    function: NotRequired[str | None]


class Switch3(TypedDict):
    """
    All tasks that run for a user.
    """

    kind: Literal['user']
    name: str


Switch: TypeAlias = Switch1 | Switch2 | Switch3


class Action(TypedDict):
    namespace: str
    tool: str
    action: str


class Target1(TypedDict):
    """
    An action of a tool.
    """

    action: Action


class Agent(TypedDict):
    namespace: str
    agent: str


class Target2(TypedDict):
    """
    A child task of another agent, for the same user.
    """

    agent: Agent


Target: TypeAlias = Target1 | Target2


Verdict: TypeAlias = Literal['allow', 'block', 'lock_task', 'suspend', 'wait', 'respond', 'terminate', 'rejected', 'invalid_input', 'error', 'route', 'discard']


class Diagnostic(TypedDict):
    """
    A problem in a manifest or another text that has a name, as programs read it.
    """

    code: str
    severity: Severity
    message: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    label: str
    path: str
    rule: str | None
    docs: str | None
    help: str | None
    standing: NotRequired[Literal['told', 'refused', 'allowed']]
    reason: NotRequired[str]


class Limit(TypedDict):
    """
    A limit that was reached: the step that would have gone beyond it was not taken.
    """

    which: str
    bound: LimitNumber
    value: LimitNumber
    policy: NotRequired[str]


class PolicyStep(TypedDict):
    """
    The name of a step of a policy document, as decisions, reviews and logs carry it.
    """

    name: str
    uses: NotRequired[list[str]]
    id: NotRequired[str | None]
    severity: NotRequired[Severity2 | None]
    labels: NotRequired[dict[str, list[str]]]


class ReviewAnswered(TypedDict):
    """
    The answer to a review.
    """

    answer: ReviewChoice
    by: ReviewedBy | None
    passed_on: NotRequired[bool]
    at: str
    note: str | None
    addressed_as: NotRequired[list[str]]
    decision: Verdict | None


class ReviewPanel(TypedDict):
    """
    Who has to approve of a review: for each of its parts some of several people, each person for one part.
    """

    all_of: list[ReviewSeats]
    expires_ms: NotRequired[int | None]


class TraceEntry(TypedDict):
    """
    One step that was evaluated.
    """

    step: str
    action: StepKind
    outcome: StepOutcome
    message: str | None
    shown: NotRequired[str]
    set: NotRequired[list[str]]
    labels: NotRequired[list[str]]
    policy: NotRequired[PolicyStep]
    exception: NotRequired[PolicyException]


class Credential(TypedDict):
    """
    A credential that the host gets for a call. It names what the credential is for; the credential itself passes through no decision, no log and no store, and no expression sees it.
    """

    audience: str
    scopes: list[str]
    policy: NotRequired[PolicyStep | None]


class Obligation(TypedDict):
    """
    Something that the host does for a call beside carrying it out. Its meaning is a matter between the policy and the host.
    """

    id: str
    values: dict[str, Any]
    secret: NotRequired[list[str]]
    policy: NotRequired[PolicyStep | None]


class Origin(TypedDict):
    """
    A place in the manifests.
    """

    path: str
    file: str
    line: int
    column: int
    policy: NotRequired[PolicyStep]


class Review(TypedDict):
    reviewer: str
    panel: NotRequired[ReviewPanel | None]


class Question2(TypedDict):
    """
    Ask this person; answer with `review`. It may take days.
    """

    review: Review


class Review1(TypedDict):
    """
    A question of a task to a person, with all that they need to answer it. Places that a manifest marks as secret hold `***`.
    """

    id: str
    state: ReviewState
    task: str
    question: int
    agent: ReviewedAgent
    user: ReviewedUser
    call: str | None
    function: str | None
    step: str | None
    arguments: dict[str, Any] | None
    result: Any
    message: str | None
    text: str | None
    rule: ReviewRule | None
    reviewer: str
    panel: NotRequired[ReviewPanel]
    approvals: NotRequired[list[ReviewAnswered]]
    progress: NotRequired[ReviewProgress]
    asked_at: str
    expires_at: str | None
    digest: str
    answered: ReviewAnswered | None


class Terms(TypedDict):
    """
    The terms under which a call is let through, from the steps of policy documents that it has passed. Who carries the call out sees to them first.
    """

    delay_ms: NotRequired[int | None]
    obligations: NotRequired[list[Obligation]]
    credentials: NotRequired[list[Credential]]


class WaitReason(TypedDict):
    """
    The expression for which an operation waits for another one.
    """

    call: str
    reads: Origin


class Enforced(TypedDict):
    """
    The first thing that would have kept an operation from going on as it came, of an engine that observes: a step, a limit, a call that cannot be formed, an input that does not fit.
    """

    verdict: Verdict
    step: NotRequired[str]
    message: NotRequired[str]
    shown: NotRequired[str]
    reviewer: NotRequired[str]
    limit: NotRequired[Limit]
    decided_by: NotRequired[Origin]


class Finding(TypedDict):
    """
    Something that failed or was ignored while one decision was made: an expression that failed, a bound parameter that the model tried to set.
    """

    code: str
    message: str
    origin: Origin | None


class Invocation(TypedDict):
    """
    A capability to be carried out.
    """

    function: str
    caller: Caller
    target: Target
    arguments: dict[str, Any]
    terms: NotRequired[Terms | None]


class ObservedStep(TypedDict):
    """
    A step of a policy document under `mode: observe`, or any step of an engine that observes, that was evaluated. Nothing of the decision follows from it.
    """

    step: str
    action: StepKind
    outcome: StepOutcome
    verdict: NotRequired[Verdict]
    reviewer: NotRequired[str]
    message: NotRequired[str]
    shown: NotRequired[str]
    set: NotRequired[list[str]]
    labels: NotRequired[list[str]]
    findings: NotRequired[list[Finding]]
    origin: Origin


class Question1(TypedDict):
    """
    Carry out a capability; answer with `result`.
    """

    invoke: Invocation


Question: TypeAlias = Question1 | Question2 | Question3 | Question4 | Question5


class DecidedCall(TypedDict):
    """
    A call that has waited for other calls, or an input or event that has waited for calls or reviews, with its decision.
    """

    call: str
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    decision: Decision


class AllowDecision(TypedDict):
    """
    The operation goes on.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['allow']
    value: Any
    exposes: NotRequired[dict[str, Any]]
    terms: NotRequired[Terms]
    reason: NotRequired[str]
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class RouteDecision(TypedDict):
    """
    The event became an input of the task.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['route']
    value: Any
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class RespondDecision(TypedDict):
    """
    The call does not run: a reviewer, or a step, gave its result.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['respond']
    value: Any
    message: str
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class BlockDecision(TypedDict):
    """
    The operation does not go on; the model gets the message as an error of the tool.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['block']
    message: str
    user_message: NotRequired[str]
    reason: NotRequired[str]
    limit: NotRequired[Limit]
    switch: NotRequired[Switch]
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class ErrorDecision(TypedDict):
    """
    The call could not be formed; the model gets the message.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['error']
    message: str
    user_message: NotRequired[str]
    reason: NotRequired[str]
    limit: NotRequired[Limit]
    switch: NotRequired[Switch]
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class InvalidInputDecision(TypedDict):
    """
    The input does not fit the agent's parameters, or what is sent to a model or came back is not of the shape that steps see.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['invalid_input']
    message: str
    user_message: NotRequired[str]
    reason: NotRequired[str]
    limit: NotRequired[Limit]
    switch: NotRequired[Switch]
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class LockTaskDecision(TypedDict):
    """
    The operation does not go on, and no later one does: the task is locked.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['lock_task']
    message: str
    user_message: NotRequired[str]
    reason: NotRequired[str]
    limit: NotRequired[Limit]
    switch: NotRequired[Switch]
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class RejectedDecision(TypedDict):
    """
    Nothing has happened: the task is locked, terminated, or waits for an answer, or an operator has stopped its agent or user.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['rejected']
    message: str
    user_message: NotRequired[str]
    reason: NotRequired[str]
    limit: NotRequired[Limit]
    switch: NotRequired[Switch]
    waits_for: NotRequired[list[str]]
    because: NotRequired[list[WaitReason]]
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class DiscardDecision(TypedDict):
    """
    The event is dropped, and nothing of it reaches the model.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['discard']
    stage: EventStage
    message: str
    user_message: NotRequired[str]
    reason: NotRequired[str]
    limit: NotRequired[Limit]
    switch: NotRequired[Switch]
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class TerminateDecision(TypedDict):
    """
    The task has ended: at a limit, or in an error that nothing can recover.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['terminate']
    reason: Literal['limit_exceeded', 'unrecoverable_error', 'ended_by_host', 'ended_with_parent']
    message: str
    limit: NotRequired[Limit]
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class SuspendDecision(TypedDict):
    """
    The operation asks, and goes on with the answer.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['suspend']
    question: int
    reviewer: NotRequired[str]
    message: str
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


class WaitDecision(TypedDict):
    """
    The operation waits: it reads what others may still change, or a review is open. It is decided by itself once those are reported, withdrawn or closed.
    """

    call: NotRequired[str]
    notes: NotRequired[list[str]]
    decided: NotRequired[list[DecidedCall]]
    decided_by: NotRequired[Origin]
    trace: list[TraceEntry]
    observed: NotRequired[list[ObservedStep]]
    enforced: NotRequired[Enforced]
    findings: list[Finding]
    counters: NotRequired[list[CounterUse]]
    cost: int
    secret: NotRequired[Hidden]
    verdict: Literal['wait']
    waits_for: NotRequired[list[str]]
    because: NotRequired[list[WaitReason]]
    held_by: NotRequired[list[int]]
    message: str
    kind: NotRequired[DecidedKind]
    function: NotRequired[str]
    asks: NotRequired[Question]


Decision: TypeAlias = AllowDecision | RouteDecision | RespondDecision | BlockDecision | ErrorDecision | InvalidInputDecision | LockTaskDecision | RejectedDecision | DiscardDecision | TerminateDecision | SuspendDecision | WaitDecision
