"""The forms that run a tool themselves: a call as a block, and functions with a decision around each call.

In: a task, and what is to run. Out: what the model may see of the result, or `Denied`. What runs gets the arguments of the decision, never
those that the model wrote.
"""

from __future__ import annotations

import secrets
from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, TypeVar

    from celador._celador import Decision, Task
    from celador._types import Json

    F = TypeVar("F", bound=Callable[..., Any])

from celador._errors import Denied, MisuseError

_current: ContextVar[tuple[Task, ...]] = ContextVar("celador.task", default=())


def current_task() -> Task:
    """The task of the innermost block (`with agent.task(…)`) around the caller, in this thread or asyncio task."""
    tasks = _current.get()
    if not tasks:
        raise MisuseError("no task is open here: enter one with `with agent.task(…)`", "no_task")
    return tasks[-1]


def _enter(task: Task) -> None:
    _current.set((*_current.get(), task))


def _exit(task: Task) -> None:
    tasks = list(_current.get())
    # the innermost block of this task: blocks may end in another order where generators are involved
    for place in range(len(tasks) - 1, -1, -1):
        if tasks[place] is task:
            del tasks[place]
            break
    _current.set(tuple(tasks))


async def _enter_soon(task: Task) -> Task:
    _enter(task)
    return task


async def _exit_soon(task: Task) -> None:
    _exit(task)


class Call:
    """A call as a block. It is entered where the call is let through; what `result` is then is reported at its end."""

    __slots__ = ("_arguments", "_function", "_id", "_reported", "_task", "decision", "result")

    decision: Decision
    """What let the call through, and once the block has ended, what its result came to."""
    result: Json
    """What the tool returned. To be set in the block."""

    def __init__(self, task: Task, function: str, arguments: Mapping[str, Json] | None, id: str | None) -> None:
        self._task, self._function, self._arguments, self._id = task, function, arguments, id
        self._reported = False
        self.result = None

    @property
    def id(self) -> str:
        """The id of the call."""
        return self._id or ""

    @property
    def arguments(self) -> dict[str, Json]:
        """The arguments to run it with."""
        return self.decision.arguments

    @property
    def value(self) -> Json:
        """What the model receives, once the block has ended: `Denied` is raised in its place where a step has withheld it."""
        if not self._reported:
            raise MisuseError("the result is reported when the block ends", "not_reported")
        if not self.decision:
            raise Denied(self.decision)
        return self.decision.value

    def __enter__(self) -> Call:
        decision = self._task.before(self._function, self._arguments, id=self._id)
        if decision and self._id is not None:
            # others may know the id as well: one of them runs the call
            claimed = self._task.claim(self._id, secrets.token_hex(16))
            decision = decision if claimed else claimed
        if not decision:
            raise Denied(decision)
        self.decision, self._id = decision, decision.call
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        if error is None:
            self.decision = self._task.after(self.id, self.result)
        elif isinstance(error, Exception):
            self.decision = self._task.after(self.id, f"{type(error).__name__}: {error}", status="errored")
        else:
            # cancelled or interrupted: nobody knows how far it came
            self._task.withdraw(self.id, ran="unknown")
            return
        self._reported = True

    async def __aenter__(self) -> Call:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.__exit__(kind, error, trace)


def guard_with(task_of: Callable[[], Task], function: F, name: str | None) -> F:
    """The function with a decision around each call, on the task that is there when it is called."""
    import functools
    import inspect

    signature = inspect.signature(function)
    called = name or function.__name__

    def arguments_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        given = set(bound.arguments)
        # what runs is what is judged, so defaults are arguments; a default of None says that there is none
        bound.apply_defaults()
        arguments: dict[str, Any] = {}
        for key, value in bound.arguments.items():
            kind = signature.parameters[key].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                arguments.update(value)
            elif kind is inspect.Parameter.POSITIONAL_ONLY or kind is inspect.Parameter.VAR_POSITIONAL and value:
                raise TypeError(f"`{called}` is guarded, so `{key}` needs a name: a decision is about named arguments")
            elif kind is not inspect.Parameter.VAR_POSITIONAL and (value is not None or key in given):
                arguments[key] = value
        return arguments

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def guarded_async(*args: Any, **kwargs: Any) -> Any:
            call = Call(task_of(), called, arguments_of(args, kwargs), None)
            try:
                with call:
                    call.result = await function(**call.arguments)
            except Denied as denied:
                return _answered(denied)
            return call.value

        return guarded_async  # type: ignore[return-value]

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        call = Call(task_of(), called, arguments_of(args, kwargs), None)
        try:
            with call:
                call.result = function(**call.arguments)
        except Denied as denied:
            return _answered(denied)
        return call.value

    return guarded  # type: ignore[return-value]


def guard_of(task: Task, function: F | None, name: str | None) -> Any:
    """`Task.guard`: as `guard`, on this task."""
    if function is not None:
        return guard_with(lambda: task, function, name)
    return lambda function: guard_with(lambda: task, function, name)


def _answered(denied: Denied) -> Any:
    """What a policy has answered in the tool's place; anything else is raised on."""
    if denied.decision.verdict == "respond":
        return denied.decision.value
    raise denied


def guard(function: F | None = None, /, *, name: str | None = None) -> Any:
    """A tool with a decision around each call, on the current task (`with agent.task(…)`). It runs with the arguments of the decision, and what
    it returns is what the model may see. A call that is not let through raises `Denied`. For `def` and `async def`."""
    if function is not None:
        return guard_with(current_task, function, name)
    return lambda function: guard_with(current_task, function, name)
