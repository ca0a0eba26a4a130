"""The engine, compiled. Import its names from `celador`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, TypeVar, final, overload

from celador import _wire
from celador._errors import Denied as Denied
from celador._guard import Call
from celador._types import (
    Analysis,
    CallReport,
    CallRequest,
    Differences,
    Explained,
    ExplainedDecision,
    ExplainedOperation,
    Json,
    Kind,
    Mutation,
    Person,
    Proofs,
    Replayed,
    ReviewState,
    Scope,
    Source,
    Status,
    TaskEvent,
    Tool,
    User,
    Verdict,
)

__version__: str

_F = TypeVar("_F", bound=Callable[..., Any])

@final
class Diagnostic:
    """What is wrong with a text that a person wrote. `str()` of it shows the place with a caret."""

    @property
    def severity(self) -> Literal["error", "warning"]: ...
    @property
    def code(self) -> str:
        """A stable word for programs, such as `unknown_key`."""

    @property
    def message(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int:
        """From 1."""

    @property
    def column(self) -> int:
        """From 1, in characters."""

    @property
    def end_line(self) -> int:
        """The line behind the last character, from 1."""

    @property
    def end_column(self) -> int: ...
    @property
    def label(self) -> str:
        """What stands under the characters where the line is shown; may be empty."""

    @property
    def path(self) -> str:
        """The manifest path, such as `capabilities.refund.before[0].assert`; empty outside manifests."""

    @property
    def rule(self) -> str | None:
        """The rule of the specification, such as `AG-10`."""

    @property
    def docs(self) -> str | None:
        """The place in the documentation that says more about the rule."""

    @property
    def help(self) -> str | None: ...
    @property
    def allowed(self) -> str | None:
        """The reason of the author, if a comment allows it."""

    @property
    def refused(self) -> bool:
        """Whether manifests with it are not loaded: each error, and a warning that may lose a rule where no comment allows it."""

    def to_dict(self) -> _wire.Diagnostic: ...

@final
class Origin:
    """A place in a manifest or policy."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def path(self) -> str:
        """Such as `capabilities.refund.before[0].assert`."""

    @property
    def policy(self) -> str | None:
        """Namespace, name and step of a policy document, such as `shop/money#cap`."""

    @property
    def severity(self) -> str | None:
        """What the policy says of the step."""

    def to_dict(self) -> _wire.Origin: ...

@final
class Step:
    """A step that was evaluated."""

    @property
    def name(self) -> str:
        """Such as `before[0]`, and where it is one of a policy document `before[0] of shop/money#cap`."""

    @property
    def action(self) -> str:
        """What it does: `assert`, `invoke`, `transform`, `set`, `respond`, `delay`, …"""

    @property
    def outcome(self) -> Literal["pass", "fail", "suspend"]: ...
    @property
    def policy(self) -> str | None: ...
    @property
    def message(self) -> str | None:
        """The text that was told when it failed."""

    @property
    def set(self) -> tuple[str, ...]:
        """The arguments that it has given other values to."""

    def to_dict(self) -> _wire.TraceEntry: ...

@final
class ObservedStep:
    """A step under `mode: observe`: what it would have done. Nothing of the decision follows from it."""

    @property
    def name(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def outcome(self) -> Literal["pass", "fail", "suspend"]: ...
    @property
    def verdict(self) -> Verdict | None: ...
    @property
    def message(self) -> str | None: ...
    @property
    def origin(self) -> Origin: ...
    def to_dict(self) -> _wire.ObservedStep: ...

@final
class Obligation:
    """Something that the host does for a call beside carrying it out."""

    @property
    def id(self) -> str: ...
    @property
    def values(self) -> dict[str, Json]: ...
    @property
    def policy(self) -> str | None: ...

@final
class Credential:
    """A credential that the host gets for a call. The credential itself passes through no decision."""

    @property
    def audience(self) -> str: ...
    @property
    def scopes(self) -> tuple[str, ...]: ...
    @property
    def policy(self) -> str | None: ...

@final
class Limit:
    """A limit that was reached: the step that would have gone beyond it was not taken."""

    @property
    def which(self) -> str:
        """Its name, such as `max_turns`."""

    @property
    def bound(self) -> str: ...
    @property
    def value(self) -> str:
        """The value that the step would have led to."""

    @property
    def policy(self) -> str | None: ...

@final
class Finding:
    """Something that failed or was ignored while the decision was made. It holds no task data."""

    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def origin(self) -> Origin | None: ...

@final
class Decision:
    """The answer to one operation. It never changes, and is true where the operation goes on (`allow`, `route`)."""

    @property
    def verdict(self) -> Verdict: ...
    @property
    def allowed(self) -> bool:
        """The same as `bool()` of it."""

    @property
    def pending(self) -> bool:
        """Whether it is not decided yet: the verdict is `suspend` (somebody is asked) or `wait` (others are ahead)."""

    @property
    def arguments(self) -> dict[str, Json]:
        """The arguments to run a call with: those of the model, those that the manifest binds, and what steps have changed. Empty where the
        operation is no call that is let through."""

    @property
    def value(self) -> Json:
        """The value to go on with: resolved arguments (`before`), the result for the model (`after`, `respond`), the admitted input or
        the delivered response as an object with `message`."""

    @property
    def text(self) -> str | None:
        """The text of the admitted or delivered message, if `value` is one."""

    @property
    def message(self) -> str | None:
        """The text for the model with `block` and `error`, for the caller in all other cases but `allow`."""

    @property
    def user_message(self) -> str | None:
        """The text for the user, where the step that stopped it has one."""

    @property
    def reason(self) -> str | None:
        """Why the task is locked or terminated. Of an end one of `limit_exceeded`, `unrecoverable_error`, `ended_by_host`, `ended_with_parent`."""

    @property
    def call(self) -> str | None:
        """The id of the call that was let through or waits; of an input, event or response that waits, the id that the task made up for it."""

    @property
    def kind(self) -> Kind:
        """The kind of operation that it is about."""

    @property
    def function(self) -> str | None:
        """The function of a call, where it is known: in a turn, among results, and of those that have waited."""

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The calls that are ahead of it, with `wait`."""

    @property
    def because(self) -> list[tuple[str, Origin]]:
        """For calls of `waits_for`, the expression that reads what the call may still change, with `wait`."""

    @property
    def held_by(self) -> tuple[int, ...]:
        """The questions of the open reviews that it waits for, with `wait`. It goes on by itself once they are closed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What reviewers have added to their answers, for the model: with an approved call, its result, and with a denial."""

    @property
    def question(self) -> int | None:
        """The name under which `Task.resume` takes the answer, with `suspend`."""

    @property
    def asks(self) -> _wire.Question | None:
        """What it asks for, with `suspend`: `{"review": {"reviewer": …}}`, `{"invoke": {…}}`, `{"read_mount": {…}}`, …"""

    @property
    def reviewer(self) -> str | None:
        """Who is asked for a review."""

    @property
    def review(self) -> Review | None:
        """The review that it waits for, as it is now."""

    @property
    def limit(self) -> Limit | None: ...
    @property
    def switch(self) -> _wire.Switch | None:
        """The switch by which an operator stopped it."""

    @property
    def decided(self) -> tuple[Decision, ...]:
        """The calls, inputs and events that waited and were decided because of it."""

    @property
    def decided_by(self) -> Origin | None:
        """The rule that decided, unless nothing stood in the way."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that were evaluated, in order."""

    @property
    def observed(self) -> tuple[ObservedStep, ...]: ...
    @property
    def enforced(self) -> _wire.Enforced | None:
        """What would have come of it, where policies were loaded with `observe=True` and the operation would not have gone on as it came."""

    @property
    def delay(self) -> float | None:
        """The seconds to wait before the call is carried out."""

    @property
    def obligations(self) -> tuple[Obligation, ...]: ...
    @property
    def credentials(self) -> tuple[Credential, ...]: ...
    @property
    def exposes(self) -> dict[str, Json] | None:
        """The values that the agent exposes with a response."""

    @property
    def findings(self) -> tuple[Finding, ...]: ...
    @property
    def cost(self) -> int: ...
    @property
    def secret(self) -> _wire.Hidden | None:
        """The places in it that a manifest marks as secret, for who writes it down."""

    def __bool__(self) -> bool: ...
    def to_dict(self) -> _wire.Decision:
        """The whole decision as the HTTP API writes it."""

    def to_json(self) -> str: ...

@final
class Turn:
    """What a turn of the model came to. True where it is within the limits; without that no call is looked at."""

    @property
    def limits(self) -> Decision: ...
    @property
    def calls(self) -> tuple[Decision, ...]:
        """How far each call came, in the order of the turn."""

    @property
    def decided(self) -> tuple[Decision, ...]:
        """What has waited and was decided because of it."""

    def __bool__(self) -> bool: ...

@final
class Results:
    """What the results of several calls came to."""

    @property
    def calls(self) -> tuple[Decision, ...]:
        """What the model receives of each, in the order in which they were given."""

    @property
    def decided(self) -> tuple[Decision, ...]:
        """The calls, inputs and events that waited and were decided because of them."""

@final
class Review:
    """What a policy asks a person. It is as it was when it was read."""

    @property
    def id(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def question(self) -> int: ...
    @property
    def state(self) -> ReviewState: ...
    @property
    def reviewer(self) -> str: ...
    @property
    def call(self) -> str | None: ...
    @property
    def function(self) -> str | None: ...
    @property
    def arguments(self) -> dict[str, Json] | None:
        """The resolved arguments of the call; what a manifest marks as secret is `***`."""

    @property
    def text(self) -> str | None:
        """What the reviewer is asked: the `question` of the step, rendered, or one that names the function."""

    @property
    def rule(self) -> _wire.ReviewRule | None:
        """The rule that asks: `expression`, `file`, `line`, `column`."""

    @property
    def asked_at(self) -> str: ...
    @property
    def expires_at(self) -> str | None: ...
    @property
    def digest(self) -> str:
        """What an answer is bound to."""

    @property
    def answered(self) -> _wire.ReviewAnswered | None: ...
    def approve(self, *, note: str | None = None, by: str | Person | None = None) -> Review:
        """Approves, and returns the review as it is then. `by` is the id or e-mail address of whoever answers, or both with their groups: the
        program vouches for them. A server knows them by the token, and refuses a `by`."""

    def deny(self, *, note: str | None = None, by: str | Person | None = None) -> Review: ...
    def edit(self, arguments: Mapping[str, Json], *, note: str | None = None, by: str | Person | None = None) -> Review:
        """Approves with other arguments, which pass the steps again."""

    def respond(self, result: Json, *, note: str | None = None, by: str | Person | None = None) -> Review:
        """Gives the result in the tool's place: the call does not run."""

    def to_dict(self) -> _wire.Review: ...

@final
class Policies:
    """Manifests and policies that were loaded, or the server that has them."""

    def agent(self, name: str | None = None, *, tools: Iterable[Tool] | None = None) -> Agent:
        """An agent by namespace and name (`shop/desk`), or by its name where only one agent has it; without one the only agent. `tools` are
        brought with each task.

        Raises `MisuseError` for a name that no agent has, or several."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of all agents (`shop/desk`). Empty of a server, which does not say them."""

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Problems for which no manifest is refused."""

@final
class Agent:
    """An agent under its policies, and the place where its tasks are kept."""

    @property
    def name(self) -> str:
        """Namespace and name: `shop/desk`."""

    @property
    def place(self) -> str:
        """Where its tasks are: `memory`, `store` or `server`."""

    def task(
        self,
        id: str | None = None,
        user: str | User | None = None,
        *,
        store: str | PathLike[str] | None = None,
        server: str | None = None,
        token: str | None = None,
        model: str | None = None,
        metadata: Mapping[str, str] | None = None,
        tools: Iterable[Tool] | None = None,
        parent: tuple[str, str] | None = None,
    ) -> Task:
        """Gets or begins the task of this id, such as that of the conversation; without one the task makes its id up.

        The place is that of the agent unless `store` or `server` names another: `store="tasks.db"` a SQLite file,
        `store="postgres://…"` a Postgres database, `server="http://127.0.0.1:8717"` with its `token` a `celador serve`. Without any the task
        is in the memory of this process.

        Raises `MisuseError` (`task_exists`) if the id is that of a task that began otherwise: for another user, with other tools."""

    def reviews(self, *, state: ReviewState | Literal["all"] = "open", reviewer: str | None = None) -> list[Review]:
        """The reviews of all of its tasks, in the order in which they were asked."""

@final
class Task:
    """One running task. Every operation takes microseconds in memory and ends in a `Decision`; a denial is no exception.

    It may be used from many threads, and is a context manager that makes it the current task of `celador.guard`. It stays in its place
    when the block ends: `agent.task` with its id finds it again."""

    def __eq__(self, other: object, /) -> bool:
        """Whether both are handles of one task in one place."""

    def __hash__(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def state(self) -> Literal["active", "suspended", "locked", "terminated"]: ...
    @property
    def left_out(self) -> dict[str, str]:
        """The tools that were brought and cannot be called, with the reasons."""

    def input(self, message: Json, /, **data: Json) -> Decision:
        """Hands over what the user said, with the parameters of the agent. `message` is a text, or a list of parts as A2A has them."""

    def limits(self, next: Literal["model_turn", "capability", "other"] = "model_turn") -> Decision:
        """Asks whether a step may be taken, without taking it."""

    def turn(
        self,
        calls: Iterable[CallRequest | tuple[str | None, str, Mapping[str, Json]]] | None = None,
        *,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
        cost: str | int | float | None = None,
        wait: float | None = None,
    ) -> Turn:
        """Reports a turn of the model: what it used and all calls that it asks for (`(id, function, arguments)`), and decides each."""

    def before(
        self,
        function: str,
        arguments: Mapping[str, Json] | None = None,
        *,
        id: str | None = None,
        wait: float | None = None,
    ) -> Decision:
        """Asks whether a call may run. Where it is allowed, run it with `arguments` of the decision and report the result with `after`.

        `wait` is for stores and servers: so many seconds the answer may wait for a review or for other calls."""

    def after(self, call: str, output: Json = None, *, status: Status = "successful") -> Decision:
        """Reports what a call came to; `value` of the decision is what the model receives."""

    def results(self, results: Iterable[CallReport | tuple[str, Json]], *, wait: float | None = None) -> Results:
        """Reports the results of several calls, in the order in which they came."""

    def call(self, function: str, arguments: Mapping[str, Json] | None = None, *, id: str | None = None) -> Call:
        """A call as a block: entered where it is let through, else `Denied` is raised; its `result` is reported when it ends.

            with task.call("refund", {"amount": 20}) as call:
                call.result = pay(**call.arguments)
            call.value    # what the model receives

        An exception in the block is reported as an error of the tool and goes on. `async with` does the same."""

    @overload
    def guard(self, function: _F, /) -> _F: ...
    @overload
    def guard(self, /, *, name: str | None = None) -> Callable[[_F], _F]:
        """The same function with a decision around each call of it, for `def` and `async def`: it runs with the arguments of the decision,
        and what it returns is what the model may see. A call that is not let through raises `Denied`."""

    def claim(self, call: str, claimant: str) -> Decision:
        """Claims a call that was let through, for one of several processes: exactly one claimant is allowed, with the `arguments` to run it with. `claimant`
        is a random text, made anew for each attempt to run a call. Any other claimant gets `MisuseError` with the code `call_claimed`."""

    def release(self, call: str, claimant: str) -> Decision:
        """Gives a claim back, of a call that was not run: another process may claim it."""

    def withdraw(self, call: str, *, ran: Literal[False, "unknown"] = False) -> Decision:
        """Takes a call back that will never be reported: it has not run, or nobody knows."""

    def standing(self, call: str, *, wait: float | None = None) -> Decision:
        """How far a call has come, or an input or response that waits."""

    def resume(self, answer: Json, *, question: int | None = None, wait: float | None = None) -> Decision:
        """Answers what an operation asks: `True` or `False` for a review (or `{"answer": "edit", "arguments": …}`, `{"answer": "respond", "result": …}`),
        `{"result": {"status": …, "output": …}}` for a capability, `{"text": …}` for a file. `question` names the question where several are open.
        The answer to a review stands on record as the program's own word; `Review.approve` says who gave it."""

    def output(self, message: Json, /, *, wait: float | None = None) -> Decision:
        """Hands over the response of the model, before the user sees it."""

    def model_before(self, request: Mapping[str, Json], *, id: str | None = None, estimate: Mapping[str, Json] | None = None) -> Decision:
        """Asks whether something may be sent to the model; `value` is what is sent then. `estimate` is what the call is expected to use
        (`prompt_tokens`, `completion_tokens`, `cost`): counters of the model reserve as much until the answer comes."""

    def model_after(self, call: str, answer: Mapping[str, Json]) -> Decision:
        """Hands over what came back from the model."""

    def invoke(self, function: str, arguments: Mapping[str, Json] | None = None, *, id: str | None = None, wait: float | None = None) -> Decision:
        """A whole call, which the task has carried out: by its own expression, or by asking for it (`asks`)."""

    def execute(self, call: str) -> Decision:
        """Has a call carried out that was let through."""

    def script(self, source: str) -> Decision:
        """Runs a script of calls that the model wrote."""

    def interrupt(self) -> Decision: ...
    def end(self, reason: str) -> Decision:
        """Ends the task: it takes no step any more."""

    def purge(self, reason: str | None = None) -> None:
        """Removes the task and all that is known of it. Its id is not used again in a store."""

    def reviews(self, *, state: ReviewState | Literal["all"] = "open") -> list[Review]: ...
    def offers(self) -> list[dict[str, Any]]:
        """The functions as the model is to know them: name, description, schema."""

    def context(self, *paths: str) -> dict[str, Any]:
        """What expressions see of the task; some parts of it, or all."""

    def evaluate(
        self,
        expression: str,
        *,
        scope: Scope = "before",
        input: Json = None,
        output: Json = None,
    ) -> Json:
        """Evaluates an expression on the task, without a trace in it. Raises `LoadError` for one that is not valid, with a caret."""

    def check(self, expression: str, *, scope: Scope = "before") -> list[Diagnostic]:
        """What is wrong with an expression in this scope."""

    @overload
    def explain(self, function: str, arguments: Mapping[str, Json] | None = None) -> ExplainedDecision: ...
    @overload
    def explain(self, *, version: int) -> ExplainedDecision:
        """Why a decision of the task was made as it was (`version` is the number of its event), or what a call would come to now: every step, each expression
        as a tree with values, and of what stopped it the nearest that would have passed. It is taken on a copy: nothing of the task changes.

        Raises `MisuseError` for an event that does not tell what it was about (`not_explainable`), and of a task in memory, which keeps none (`no_events`)."""

    def events(self) -> list[TaskEvent]:
        """What has happened to the task, in order. Of one in memory `MisuseError` (`no_events`): it keeps none."""

    def save(self) -> str:
        """The whole task as a text, for `restore`. Of a task in memory alone: stores and servers keep theirs."""

    def __enter__(self) -> Task: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    async def __aenter__(self) -> Task: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class CaseResult:
    """What a case came to."""

    @property
    def name(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def passed(self) -> bool: ...
    @property
    def outcome(self) -> Literal["passed", "failed", "broken"]:
        """`broken` where the case cannot be read or run, or its manifests were not loaded completely."""

    @property
    def failure(self) -> str | None:
        """What was expected and what came."""

    @property
    def explained(self) -> list[ExplainedOperation]:
        """What its operations went through, step by step: of a case that has failed, and of every case with `explain`."""

@final
class TestReport:
    """What cases came to. True if all have passed and there was one at least."""

    @property
    def results(self) -> tuple[CaseResult, ...]: ...
    @property
    def passed(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def broken(self) -> int:
        """Cases that cannot be read or run, and files and folders in which cases may be lost."""

    @property
    def warnings(self) -> list[Diagnostic]:
        """Documents of folders that no command reads."""

    @property
    def coverage(self) -> dict[str, Json] | None:
        """Which steps and clauses the cases have tried, if that was asked for."""

    @property
    def mutation(self) -> Mutation | None:
        """Which small changes of the policies the cases notice, and which would go unnoticed, if that was asked for."""

    def __bool__(self) -> bool: ...
    def __str__(self) -> str:
        """`N passed, M failed`, or `N passed, M broken`, with each failure above it."""

def load(
    *manifests: Source,
    store: str | PathLike[str] | None = None,
    server: str | None = None,
    token: str | None = None,
    observe: bool = False,
    hash_key: bytes | str | None = None,
    functions: Mapping[str, Callable[..., Json]] | None = None,
) -> Policies:
    """Loads manifests and policies: files, folders, texts.

    `store` or `server` say where the tasks of its agents are kept; without either they are in the memory of this process. A server has
    manifests of its own, so that `load(server="http://127.0.0.1:8717", token=…)` takes none.

    With `observe` nothing is stopped or changed, and each decision says in `enforced` what would have come of it; a server has its own
    `--observe`.

    `hash_key` is what `pii.hash` of the policies hashes with: at least 16 random bytes that no other program knows. Without it policies that call `pii.hash` are refused;
    a server has its own `--hash-key-file`.

    `functions` are those that policies declare under `functions`, by name (`{"crm.tier": tier}`). Each is called with the arguments by position, has to be pure and to give its value at once;
    an exception, a coroutine and a value of another type than declared fail the step. A policy that declares a function which is not here is refused; a server calls none.

    Raises `LoadError` for manifests that are refused: for an error, or for a warning that may lose a rule."""

def agent_for(
    tools: Iterable[Tool],
    policies: Source | Sequence[Source] | None = None,
    *,
    name: str | None = None,
    store: str | PathLike[str] | None = None,
    server: str | None = None,
    token: str | None = None,
    observe: bool = False,
    hash_key: bytes | str | None = None,
    functions: Mapping[str, Callable[..., Json]] | None = None,
) -> Agent:
    """An agent with these tools and no manifest of its own: what its calls may do, the policies say.

    `name` (`shop/desk`) is what `applies_to` of policies is compared with. Without one the namespace is that of the policies, if they are all of one.
    With `server`, `name` is an agent of that server, which keeps places for the tools."""

def check(*manifests: Source) -> list[Diagnostic]:
    """Every problem of manifests and policies. None is an exception; a path that cannot be read is `LoadError`."""

def analysis(*manifests: Source) -> Analysis:
    """How many clauses of manifests and policies are decided, and which are not; what is accused, `check` tells."""

def test(*paths: str | PathLike[str], coverage: bool = False, explain: bool = False, mutate: bool = False) -> TestReport:
    """Runs case files: files, or folders to be searched.

    With `coverage` the report says which steps and clauses of their policies the cases have tried; with `explain` each result tells what its operations went
    through, and not only one that has failed. With `mutate` the policies are changed a little, in many ways, and `mutation` says which changes no case notices, with
    cases that would: as many runs as there are changes."""

def explain(
    subject: str | PathLike[str],
    *,
    manifests: Source | Sequence[Source] | None = None,
    case: str | None = None,
    step: str | int | None = None,
) -> Explained:
    """Why the operations of cases or of a recorded task were decided as they were. `manifests` are those of a recorded task, if they are not beside it;
    `case` is one case alone of a file of several, `step` one step alone: a number, or a name such as `before[0]`.

    Raises `LoadError` for what cannot be read or is refused, and `MisuseError` for a case or step that there is not."""

def diff(old: Source | Sequence[Source], new: Source | Sequence[Source]) -> Differences:
    """Says for each operation of each agent whether two sets of policies decide anything otherwise, with a task that shows it where one was found. Raises `LoadError` for
    policies that are refused."""

def prove(
    policies: Source | Sequence[Source],
    invariants: Source,
    *,
    depth: int | None = None,
    operations: int | None = None,
    seconds: int | None = None,
) -> Proofs:
    """Says of each invariant whether it holds, with the rules that it rests on, is broken, by a task, or is not known. `invariants` is one file or text; the bounds are
    those of `celador prove`. Raises `LoadError` for policies and invariants that are refused."""

def fmt(text: str) -> str:
    """A text of manifests, policies, cases or a recorded task in one layout. One that cannot be read is what it was."""

def replay(
    *recorded: str | PathLike[str],
    policies: Source | Sequence[Source],
    against: Source | Sequence[Source] | None = None,
    hash_key: bytes | str | None = None,
    functions: Mapping[str, Callable[..., Json]] | None = None,
) -> Replayed:
    """Judges recorded tasks anew under `policies`: files of steps, one a line, as `celador replay` reads them.

    They are compared with what was recorded, or with what `against` decides. The files are read as a stream. `hash_key` and `functions` are as for `load`: the key under
    which was recorded, and functions that give now what they gave then."""

def replay_lines(
    lines: Iterable[str | bytes],
    *,
    policies: Source | Sequence[Source],
    against: Source | Sequence[Source] | None = None,
    hash_key: bytes | str | None = None,
    functions: Mapping[str, Callable[..., Json]] | None = None,
) -> Replayed:
    """The same of lines that a program has, such as a part of a recording on one of many machines. All lines of a task belong into one part."""

def add_replays(tallies: Iterable[Replayed]) -> Replayed:
    """What came of a whole recording, out of what came of its parts."""

def evaluate(expression: str, case: str | PathLike[str] | None = None, /, **variables: Json) -> Json:
    """Evaluates an expression of the language with these variables, or on what the steps of a case's operation see, at the time of the case. Raises `LoadError` for one that is not valid and `MisuseError` for one that fails."""

def restore(policies: Policies, saved: str) -> Task:
    """Goes on with a task in memory that `Task.save` has written, in this process or another."""

def main(arguments: Sequence[str] | None = None) -> int:
    """The command `celador`; the exit code."""
