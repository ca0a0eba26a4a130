"""The README of the package: its programs run, and print what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_programs_print_what_it_says(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    Path("/tmp/celador-readme.db").unlink(missing_ok=True)
    names: dict[str, Any] = {"__name__": "readme"}
    printed, programs = "", 0
    for language, text in BLOCK.findall(README.read_text("utf-8")):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, str(README), "exec", dont_inherit=True), names)
            printed, programs = out.getvalue(), programs + 1
        elif language == "text":
            assert printed == text
            printed = ""
    assert programs >= 7
