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

from collections.abc import Callable
from typing import Any, TypeVar, overload

from celador._celador import (
    Agent as Agent,
    CaseResult as CaseResult,
    Credential as Credential,
    Decision as Decision,
    Diagnostic as Diagnostic,
    Finding as Finding,
    Limit as Limit,
    Obligation as Obligation,
    ObservedStep as ObservedStep,
    Origin as Origin,
    Policies as Policies,
    Results as Results,
    Review as Review,
    Step as Step,
    Task as Task,
    TestReport as TestReport,
    Turn as Turn,
    __version__ as __version__,
    add_replays as add_replays,
    agent_for as agent_for,
    analysis as analysis,
    check as check,
    diff as diff,
    evaluate as evaluate,
    explain as explain,
    fmt as fmt,
    load as load,
    prove as prove,
    replay as replay,
    replay_lines as replay_lines,
    restore as restore,
    test as test,
)
from celador._errors import (
    CeladorError as CeladorError,
    Denied as Denied,
    InternalError as InternalError,
    LoadError as LoadError,
    MisuseError as MisuseError,
    StoreError as StoreError,
)
from celador._guard import Call as Call, current_task as current_task
from celador._types import (
    Analysis as Analysis,
    BreakingTask as BreakingTask,
    CallReport as CallReport,
    CallRequest as CallRequest,
    Differences as Differences,
    Evidence as Evidence,
    Explained as Explained,
    ExplainedDecision as ExplainedDecision,
    ExplainedExpression as ExplainedExpression,
    ExplainedOperation as ExplainedOperation,
    ExplainedPart as ExplainedPart,
    ExplainedStep as ExplainedStep,
    Flip as Flip,
    Grounds as Grounds,
    Json as Json,
    Kind as Kind,
    MadeCall as MadeCall,
    Mutant as Mutant,
    Mutation as Mutation,
    OperationDifference as OperationDifference,
    OriginDict as OriginDict,
    Outcome as Outcome,
    Person as Person,
    Proof as Proof,
    ProofBroken as ProofBroken,
    ProofHolds as ProofHolds,
    ProofUnknown as ProofUnknown,
    Proofs as Proofs,
    Reached as Reached,
    Rejection as Rejection,
    Replayed as Replayed,
    ReviewState as ReviewState,
    Scope as Scope,
    Source as Source,
    Status as Status,
    Suggestion as Suggestion,
    TaskEvent as TaskEvent,
    Tool as Tool,
    UnknownClause as UnknownClause,
    User as User,
    Verdict as Verdict,
    Witness as Witness,
)

_F = TypeVar("_F", bound=Callable[..., Any])

@overload
def guard(function: _F, /) -> _F:
    """A tool with a decision around each call, on the current task (`with agent.task(…)`). It runs with the arguments of the decision, and what
    it returns is what the model may see. A call that is not let through raises `Denied`. For `def` and `async def`."""

@overload
def guard(*, name: str | None = None) -> Callable[[_F], _F]: ...
