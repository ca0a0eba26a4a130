"""What this package raises. A denial is a `Decision` and raises nothing, but in the forms that run a tool themselves."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from celador._celador import Decision, Diagnostic


class CeladorError(Exception):
    """Whatever this package raises but for a wrong type or value of an argument."""

    code: str
    """A stable word for programs, such as `unknown_call`."""

    def __init__(self, message: str, code: str = "error") -> None:
        super().__init__(message)
        self.code = code


class LoadError(CeladorError):
    """Manifests, policies or expressions that are refused. The text shows each place with carets."""

    diagnostics: tuple[Diagnostic, ...]
    """The same as data. Empty where a path cannot be read."""

    def __init__(self, message: str, code: str = "refused", diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message, code)
        self.diagnostics = diagnostics


class MisuseError(CeladorError):
    """A mistake of the program that calls, such as a result of a call that was never let through. Nothing has happened."""


class StoreError(CeladorError):
    """The store or the server does not answer, or what it holds cannot be read. Whether anything has happened is open: the same request
    under the same ids may be sent again, and counts once."""


class InternalError(CeladorError):
    """A mistake of the engine. The step counts as not decided: nothing may run because of it."""


class Denied(Exception):
    """Raised by the forms that run a tool themselves (`Task.call`, `guard`) where the call is not let through. The text is the message for
    the model."""

    decision: Decision
    """The decision, with the verdict and all that explains it. Where it is pending, `Task.standing` tells later what has come of it."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.message or decision.verdict)
        self.decision = decision
