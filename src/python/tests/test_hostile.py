"""Values that no JSON has, and values without end: each a clear error, and nothing has happened."""

from __future__ import annotations

import collections
import enum
from typing import Any

import pytest

import celador


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


cyclic: dict[str, Any] = {}
cyclic["self"] = cyclic


class Strange:
    pass


class Angry(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (float("nan"), ValueError, "finite"),
        (float("inf"), ValueError, "finite"),
        (10**400, ValueError, "too large"),
        (nested(101), ValueError, "`max_json_depth` 100 exceeded"),
        (nested(100_000), ValueError, "`max_json_depth` 100 exceeded"),
        (cyclic, ValueError, "`max_json_depth` 100 exceeded"),
        ("\ud800", ValueError, "surrogate"),
        ({"\udfff": 1}, ValueError, "surrogate"),
        ({1: 2}, TypeError, "keys of a mapping to be texts, found `int`"),
        ({None: 2}, TypeError, "found `NoneType`"),
        ({1, 2}, TypeError, "found `set`"),
        (b"bytes", TypeError, "found `bytes`"),
        (Strange(), TypeError, "found `Strange`"),
        (1j, TypeError, "found `complex`"),
        ("x" * 40_000_000, ValueError, "`max_json_bytes`"),
    ],
    ids=lambda value: None if isinstance(value, str) and len(value) > 50 else repr(type(value)),
)
def test_refused(agent: celador.Agent, value: Any, error: type[Exception], text: str) -> None:
    task = agent.task("t-1")
    with pytest.raises(error, match=text):
        task.before("get_order", {"order_id": value}, id="c1")
    # nothing has happened under this id
    assert task.before("get_order", {"order_id": "o1"}, id="c1")
    with pytest.raises(error, match=text):
        task.after("c1", value)
    assert task.after("c1", {"total": 1})


def test_no_data_in_errors(agent: celador.Agent) -> None:
    with pytest.raises(TypeError) as refused:
        agent.task().before("get_order", {"password": "hunter2", "more": {"hunter3": {4}}})
    assert "hunter" not in str(refused.value)


def test_taken(agent: celador.Agent) -> None:
    class Word(str, enum.Enum):
        ORDER = "o1"

    task = agent.task()
    values: list[tuple[Any, Any]] = [
        (2**53 + 1, 2**53 + 1),
        (-(2**63), -(2**63)),
        (2**63, float(2**63)),
        (1.5, 1.5),
        (40.0, 40.0),
        (True, True),
        (None, None),
        ("ä\0\U0001f600", "ä\0\U0001f600"),
        ((1, [2, ()]), [1, [2, []]]),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (collections.ChainMap({"a": 1}), {"a": 1}),
        (nested(95), nested(95)),
        (Word.ORDER, "o1"),
        ({"": {"": None}}, {"": {"": None}}),
    ]
    for number, (value, out) in enumerate(values):
        id = f"c{number}"
        assert task.before("get_order", {"order_id": "o1"}, id=id)
        seen = task.after(id, value).value
        assert seen == out and type(seen) is type(out), value
    assert list(task.after("c9", values[9][0]).value) == ["b", "a"]


def test_a_dictionary_that_lies(agent: celador.Agent) -> None:
    # a dictionary is read as it lies, whatever its methods say
    assert agent.task().before("get_order", Angry(order_id="o1"))


def test_names_and_ids(agent: celador.Agent) -> None:
    task = agent.task()
    for id in ["", "a\nb", "x" * 100_000]:
        with pytest.raises(celador.MisuseError) as bad:
            task.before("get_order", {"order_id": "o1"}, id=id)
        assert bad.value.code == "bad_request"
    for id in ["", ".", "..", "a\nb", "x" * 100_000]:
        with pytest.raises(celador.MisuseError):
            agent.task(id)
    assert not task.before("x" * 1_000_000, {})
    assert not task.before("\0", {})
    with pytest.raises(TypeError):
        task.before(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        task.before("get_order", ["o1"])  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        task.turn(cost=-1)
    with pytest.raises((ValueError, OverflowError)):
        task.turn(prompt_tokens=-1)
    with pytest.raises(ValueError):
        task.before("get_order", {"order_id": "o1"}, wait=float("nan"))
