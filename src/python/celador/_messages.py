"""Messages and results in the form that rules read, and the tables of the forms that an adapter knows.

In: parts of a framework's message, texts, values of Python. Out: parts and JSON values for the task, and the way back from what the task has
decided. What goes on is always made from the decided value. A form that no table has is refused by name.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import json
import logging
import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from decimal import Decimal as Exact
from typing import Any, Literal, TypeAlias

from celador import CeladorError

log = logging.getLogger("celador")

Treatment: TypeAlias = Literal["judged", "passed", "refused", "dropped"]


@dataclasses.dataclass(frozen=True)
class Form:
    """One row of an adapter's table: a form of message, item or part, who sends it, and what happens to it."""

    name: str
    sender: str
    treatment: Treatment
    note: str = ""


class Unjudged:
    """The forms that an adapter which observes has passed on, each logged once."""

    MOST = 1024

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def pass_on(self, what: str) -> None:
        if what in self._logged:
            return
        if len(self._logged) < self.MOST:
            self._logged.add(what)
        log.warning("passed on unjudged: %s", what)


_unjudged: contextvars.ContextVar[Unjudged | None] = contextvars.ContextVar("celador.unjudged", default=None)


@contextlib.contextmanager
def reading(unjudged: Unjudged | None) -> Generator[None, None, None]:
    """Reads messages for an adapter that observes, or for one that does not (`None`). For one step of an adapter, never over an `await`."""
    before = _unjudged.set(unjudged)
    try:
        yield
    finally:
        _unjudged.reset(before)


def refuse(what: str) -> None:
    """Raises an error that names what no rule can read. Where an adapter observes it is passed on instead, and logged."""
    unjudged = _unjudged.get()
    if unjudged is None:
        raise CeladorError(f"refused: {what}", "unknown_form")
    unjudged.pass_on(what)


def treatment(forms: Sequence[Form], sender: str, name: str) -> Treatment:
    """The treatment of a form. One that is refused, or that the table does not have, is refused by name."""
    row = next((form for form in forms if form.name == name and form.sender == sender), None)
    if row is not None and row.treatment != "refused":
        return row.treatment
    refuse(f"no rule can read {name!r} of the {sender}{f' ({row.note})' if row and row.note else ''}")
    return "passed"


def drop(name: str, sender: str) -> None:
    """Logs that something is left out."""
    log.warning("dropped: %s of the %s", name, sender)


@dataclasses.dataclass(frozen=True)
class Piece:
    """One part of a message. Rules read its text, or its kind and media type where it is no text; `original` is the framework's own object."""

    kind: str
    text: str | None = None
    media_type: str = "application/octet-stream"
    original: Any = None

    def part(self) -> dict[str, Any]:
        if self.text is None:
            return {"kind": self.kind, "mimeType": self.media_type}
        named = {} if self.kind == "text" else {"kind": self.kind}
        return {**named, "mimeType": "text/plain", "text": self.text}

    def key(self) -> str:
        """What tells this part from others, wherever it stands."""
        return json.dumps(self.part(), sort_keys=True)


def text_piece(text: str) -> Piece:
    return Piece("text", readable(text))


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The same parts, neighbouring texts as one: a model reads them as one, so a word may begin in one and end in the next. Empty texts are left out."""
    result: list[Piece] = []
    for piece in pieces:
        if piece.text == "":
            continue
        if result and piece.kind == result[-1].kind == "text":
            result[-1] = Piece("text", f"{result[-1].text}{piece.text}")
        else:
            result.append(piece)
    return result


def decided(parts: Sequence[Mapping[str, Any]], given: Sequence[Piece]) -> list[Piece]:
    """The parts of a decided message. Those that are no plain text are the given ones of the same kind, in order."""
    rest = list(given)
    result: list[Piece] = []
    for part in parts:
        kind, text = part.get("kind", "text"), part.get("text")
        if kind == "text" and isinstance(text, str):
            result.append(Piece("text", text))
            continue
        own = next((piece for piece in rest if piece.kind == kind and (piece.text is None) == (text is None)), None)
        if own is None:
            raise CeladorError("a policy has made a part of a message that has no form here", "unknown_form")
        rest.remove(own)
        result.append(dataclasses.replace(own, text=text))
    return result


def plain(pieces: Iterable[Piece]) -> str:
    """The texts of a message as one text."""
    return "".join(piece.text or "" for piece in pieces)


# JSON

_DEEPEST = 60
"""So many values may stand in one another. What is deeper is text."""


def as_json(value: Any) -> Any:
    """A value as JSON: what models of Pydantic and dataclasses hold, and of a text that is an object or a list of JSON that value, as frameworks
    hand results of tools over as texts. What has no exact form in JSON is its text."""
    return _parsed(value) if isinstance(value, str) else _exact(value, _DEEPEST)


def as_text(value: Any) -> str:
    """A value as the model reads it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def readable(text: str) -> str:
    """A text with U+FFFD for each half of a surrogate pair that stands alone."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _NotExact(ValueError):
    """A text that is JSON by its signs, and means something else to another reader."""


def strict_json(text: str) -> Any:
    """The value of a text that is JSON. Raises `ValueError` for one that readers take differently: names twice in an object, numbers beyond 64 bits
    or digits, halves of surrogate pairs, `NaN`, too deep."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
    except RecursionError as error:
        raise _NotExact("too deep") from error
    _hold(value, _DEEPEST)
    return value


def _parsed(text: str) -> Any:
    if text.lstrip().startswith(("{", "[")):
        try:
            return strict_json(text)
        except ValueError:
            pass
    return readable(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _NotExact("a name twice")
    return result


def _integer(digits: str) -> int:
    if len(digits) > 20 or not _fits(int(digits)):
        raise _NotExact("a number of more than 64 bits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value) or len(digits) > 400 or Exact(repr(value)) != Exact(digits):
        raise _NotExact("a number that is rounded")
    return value


def _constant(name: str) -> Any:
    raise _NotExact(name)


def _fits(value: int) -> bool:
    return -(1 << 63) <= value < 1 << 64


def _hold(value: Any, deeper: int) -> None:
    if deeper == 0:
        raise _NotExact("too deep")
    if isinstance(value, str) and value != readable(value):
        raise _NotExact("half of a surrogate pair")
    if isinstance(value, dict):
        for name, member in value.items():
            _hold(name, deeper)
            _hold(member, deeper - 1)
    elif isinstance(value, list):
        for member in value:
            _hold(member, deeper - 1)


def _exact(value: Any, deeper: int) -> Any:
    """A value of Python as JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return readable(str(value))
    if isinstance(value, int):
        return int(value) if _fits(value) else str(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if deeper == 0:
        return readable(str(value))
    if isinstance(value, Mapping):
        names = [readable(str(name)) for name in value]
        if len(set(names)) != len(names):
            return readable(str(value))
        return {name: _exact(member, deeper - 1) for name, member in zip(names, value.values(), strict=True)}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_exact(member, deeper - 1) for member in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return _exact(dump(mode="json"), deeper - 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _exact(dataclasses.asdict(value), deeper - 1)
    return readable(str(value))


__all__ = [
    "Form",
    "Piece",
    "Treatment",
    "Unjudged",
    "as_json",
    "as_text",
    "decided",
    "drop",
    "joined",
    "log",
    "plain",
    "readable",
    "reading",
    "refuse",
    "strict_json",
    "text_piece",
    "treatment",
]
