"""Celador: the policy and guardrail engine for AI agents.

    import celador

    agent = celador.load("policies/").agent("shop/desk")
    with agent.task("thread-7", user="u-1") as task:
        decision = task.before("refund", {"order_id": "o1", "amount": 20}, id="call_1")
        if decision:
            decision = task.after("call_1", pay(**decision.arguments))

A decision is a value, true where the call is let through; no denial is an exception but in the forms that run the tool
themselves (`call`, `guard`).
"""

from celador._celador import (
    Agent,
    CaseResult,
    Credential,
    Decision,
    Diagnostic,
    Finding,
    Limit,
    Obligation,
    ObservedStep,
    Origin,
    Policies,
    Results,
    Review,
    Step,
    Task,
    TestReport,
    Turn,
    __version__,
    add_replays,
    agent_for,
    check,
    evaluate,
    load,
    replay,
    replay_lines,
    restore,
    test,
)
from celador._errors import CeladorError, Denied, InternalError, LoadError, MisuseError, StoreError
from celador._guard import Call, current_task, guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from celador._types import (
        CallReport,
        CallRequest,
        Flip,
        Json,
        Kind,
        Person,
        Replayed,
        ReviewState,
        Scope,
        Source,
        Status,
        Tool,
        User,
        Verdict,
    )

__all__ = [
    "Agent",
    "Call",
    "CallReport",
    "CallRequest",
    "CaseResult",
    "CeladorError",
    "Credential",
    "Decision",
    "Denied",
    "Diagnostic",
    "Finding",
    "Flip",
    "InternalError",
    "Json",
    "Kind",
    "Limit",
    "LoadError",
    "MisuseError",
    "Obligation",
    "ObservedStep",
    "Origin",
    "Person",
    "Policies",
    "Replayed",
    "Results",
    "Review",
    "ReviewState",
    "Scope",
    "Source",
    "Status",
    "Step",
    "StoreError",
    "Task",
    "TestReport",
    "Tool",
    "Turn",
    "User",
    "Verdict",
    "add_replays",
    "agent_for",
    "check",
    "current_task",
    "evaluate",
    "guard",
    "load",
    "replay",
    "replay_lines",
    "restore",
    "test",
    "__version__",
]


def __getattr__(name: str) -> object:
    # what only type checkers and readers ask for is loaded when somebody does
    if name in __all__:
        from celador import _types

        return getattr(_types, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
