"""The tables of forms: docs/security.md has them as they are, and a form that is in none of them is refused by name. `UPDATE_EXPECT=1` writes the page."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

import celador
import pytest
from celador._messages import Unjudged, as_json, reading, treatment

import desk

PAGE = desk.HERE.parents[3] / "docs/security.md"
ADAPTERS = (*desk.ALL, "mcp")


def block(adapter: str) -> str:
    rows = [(f"`{form.name}`", form.sender, form.treatment, form.note) for form in forms(adapter)]
    lines = ["| form | from | treatment | note |", "|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join([f"<!-- forms: python/{adapter} -->", *lines, "<!-- end forms -->"])


def forms(adapter: str) -> Any:
    return importlib.import_module(f"celador.{adapter}").FORMS


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_page_has_the_table(adapter: str) -> None:
    page = PAGE.read_text()
    found = re.search(rf"<!-- forms: python/{adapter} -->.*?<!-- end forms -->", page, re.DOTALL)
    if os.environ.get("UPDATE_EXPECT"):
        new = page.replace(found.group(), block(adapter)) if found else f"{page.rstrip()}\n\n{block(adapter)}\n"
        PAGE.write_text(new)
    else:
        assert found and found.group() == block(adapter)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_one_more_form_is_refused_by_name(adapter: str, caplog: pytest.LogCaptureFixture) -> None:
    table = forms(adapter)
    assert len({(form.name, form.sender) for form in table}) == len(table), "one row for each form"
    for form in table:
        for name, sender in ((f"{form.name}2", form.sender), (form.name.swapcase(), form.sender), (form.name, "somebody")):
            with pytest.raises(celador.CeladorError, match=re.escape(repr(name))):
                treatment(table, sender, name)
        if form.treatment == "refused":
            with pytest.raises(celador.CeladorError, match="refused"):
                treatment(table, form.sender, form.name)
            with reading(Unjudged()):
                assert treatment(table, form.sender, form.name) == "passed"
            assert f"passed on unjudged: no rule can read {form.name!r}" in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        '{"k": "AKIA", "k": "x"}',
        '{"a": {"k": 1, "\\u006b": 2}}',
        '["\\ud800"]',
        '{"\\udc00": 1}',
        "[123456789012345678901234567890]",
        "[18446744073709551616]",
        "[0.10000000000000000000000000000000001]",
        "[1e400]",
        "[1e-400]",
        "[NaN]",
        "[" * 100_000,
        "[" * 200 + "]" * 200,
        '{"a": 1} {"a": 2}',
    ],
)
def test_a_text_that_readers_take_differently_is_a_text(text: str) -> None:
    assert as_json(text) == text


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ('{"a": [1, -9223372036854775808, 18446744073709551615, 0.1, 1e3, "\\ud83d\\ude00"]}', {"a": [1, -(2**63), 2**64 - 1, 0.1, 1000.0, "😀"]}),
        ("half \ud800 a pair", "half \ufffd a pair"),
        ({1: "a", "1": "b"}, "{1: 'a', '1': 'b'}"),
        ({"n": float("nan"), "b": 2**70, "t": (1, True)}, {"n": "nan", "b": str(2**70), "t": [1, True]}),
        ({"s": "\udfff"}, {"s": "\ufffd"}),
    ],
)
def test_what_is_read_of_a_value(given: Any, read: Any) -> None:
    assert as_json(given) == read
