"""What an adapter has to do next, and what has come of a message: the values that a conversation gives.

In: decisions. Out: for a call one of `Run`, `Tell`, `Ask` and `Hold`; for a message one of `Admitted`, `Stopped` and `Kept`; for a result `Given` or `Tell`.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from celador._messages import Piece, joined

if TYPE_CHECKING:
    from celador import Decision, Review, User

REFUSED = "(This message was refused.)"
"""What stands in the history in the place of a message of the user that was refused, so that no later turn of the model reads it."""

REFUSED_KEY = Piece("text", REFUSED).key()

KEPT = "Your message is kept. It is judged once the open reviews are answered."
"""What the user reads where a message has to wait."""

Obligations: TypeAlias = "Mapping[str, Callable[[dict[str, Any]], object]]"
"""What is done for obligations of policies, by their ids. A call with an obligation that is not here does not run."""

Whom: TypeAlias = "str | User | Callable[[Any], str | User | None] | None"
"""For whom tasks run: a user, or a function of what the framework knows of the run."""


@dataclasses.dataclass(frozen=True)
class Run:
    """The call is let through, with these arguments. It runs once `Conversation.claim` has claimed it and done what policies want done beside it."""

    arguments: dict[str, Any]
    delay: float = 0.0
    beside: tuple[Callable[[], object], ...] = ()
    claimant: str = ""
    """The text of the claim, once there is one."""

    def meet(self) -> None:
        """Meets the obligations of policies."""
        for meet in self.beside:
            meet()


@dataclasses.dataclass(frozen=True)
class Tell:
    """The model reads this text in the place of a result. `failed` is false where the policy itself has answered."""

    text: str
    failed: bool = True


@dataclasses.dataclass(frozen=True)
class Ask:
    """A person is asked. The call goes on, or does not, once the review is closed."""

    review: Review


@dataclasses.dataclass(frozen=True)
class Hold:
    """Other calls, or the reviews of other calls, are ahead."""

    waits_for: tuple[str, ...]


Next: TypeAlias = Run | Tell | Ask | Hold


@dataclasses.dataclass(frozen=True)
class Given:
    """What the model receives of a result, always in the place of the tool's own."""

    value: Any
    notes: tuple[str, ...] = ()
    """What reviewers have added to their approvals, for the model."""

    @property
    def told(self) -> Any:
        """The value, with the notes beside it where there are any."""
        return {"result": self.value, "notes": list(self.notes)} if self.notes else self.value


@dataclasses.dataclass(frozen=True)
class Admitted:
    """A message may go on, as these parts."""

    pieces: list[Piece]


@dataclasses.dataclass(frozen=True)
class Stopped:
    """A message may not go on. The user reads this text."""

    text: str
    decision: Decision | None = None


@dataclasses.dataclass(frozen=True)
class Kept:
    """A message is judged later, under this id: a person is asked about something else first."""

    id: str


@dataclasses.dataclass(frozen=True)
class Late:
    """A message that was kept and admitted later. The history of a framework may not have it."""

    pieces: tuple[Piece, ...]
    behind: frozenset[str]
    """The calls whose results stand ahead of it."""


class Known:
    """The texts that the task has judged, for one look at the messages of a request. Each judged text accounts for one place, so that the same
    words, said once more, are new."""

    def __init__(self, inputs: collections.Counter[str], outputs: collections.Counter[str]) -> None:
        self._inputs = inputs
        self._outputs = outputs

    def count(self, pieces: Iterable[Piece]) -> int:
        """How often the task has judged a message as an input."""
        return min((self._inputs[piece.key()] for piece in joined(pieces)), default=0)

    def covers(self, pieces: Iterable[Piece], *, of_model: bool) -> bool:
        """Whether all of a message was judged: as an input or, where the model has said it, as a response."""
        keys = [piece.key() for piece in joined(pieces)]
        sources = (self._outputs, self._inputs) if of_model else (self._inputs,)
        return keys == [REFUSED_KEY] or any(_take(source, keys) for source in sources)


def _take(source: collections.Counter[str], keys: list[str]) -> bool:
    wanted = collections.Counter(keys)
    if not wanted <= source:
        return False
    source.subtract(wanted)
    return True


def for_user(decision: Decision) -> str:
    """What the user reads where something was stopped."""
    return decision.user_message or decision.message or f"This cannot be done ({decision.verdict})."


__all__ = [
    "Admitted",
    "Ask",
    "Given",
    "Hold",
    "KEPT",
    "Kept",
    "Known",
    "Late",
    "Next",
    "Obligations",
    "REFUSED",
    "REFUSED_KEY",
    "Run",
    "Stopped",
    "Tell",
    "Whom",
    "for_user",
]
