"""The READMEs of the package and of the project, and pages about what authors ask: their programs run, and print what they say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("README.md", 1),
        ("src/python/README.md", 7),
        ("docs/everyday.md", 1),
        ("docs/findings.md", 1),
        ("docs/prove.md", 1),
        ("docs/replay.md", 1),
        ("docs/testing.md", 2),
    ],
)
def test_the_programs_print_what_it_says(
    page: str, least: int, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    names: dict[str, Any] = {"__name__": "readme"}
    printed: str | None = None
    programs = 0
    for language, text in BLOCK.findall((root / page).read_text("utf-8")):
        if language == "python":
            text = text.replace("/tmp/celador-readme.db", str(tmp_path / "celador.db"))
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, page, "exec", dont_inherit=True), names)
            printed, programs = out.getvalue(), programs + 1
        elif language == "text" and printed is not None:
            assert printed == text
            printed = None
    assert programs >= least
