"""Cases of policies as tests of pytest.

In: files that match the option `celador_cases` (`cases/*.yaml` unless something else is set) and hold a case. Out: a test for each, which
fails with what was expected and what was found side by side. pytest finds this by itself where the package is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

PATTERNS = ["cases/*.yaml", "cases/*.yml"]

# the keys at the top of a document by which a case is known; manifests have a `kind`
_KEY = re.compile(r"^(name|call|expect|steps|story|manifest|kind):", re.MULTILINE)
_NAME = re.compile(r"^name:\s*[\"']?([^\"'#\n]+?)[\"']?\s*(?:#.*)?$", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the option of configuration files."""
    parser.addini("celador_cases", "Patterns of files with cases of policies.", type="linelist", default=PATTERNS)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Takes a file that holds a case."""
    if file_path.suffix not in (".yaml", ".yml"):
        return None
    patterns: list[str] = parent.config.getini("celador_cases")
    if not any(file_path.match(pattern) for pattern in patterns) or not _is_case(_text(file_path)):
        return None
    return CaseFile.from_parent(parent, path=file_path)


def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


def _is_case(text: str) -> bool:
    keys = set(_KEY.findall(text))
    if "kind" in keys:
        return False
    # a file of several cases has `manifest`, also where its `cases` are misspelt: then it is broken, and not left out
    return bool(keys & {"call", "expect", "manifest"}) or "name" in keys and bool(keys & {"steps", "story"})


class CaseFile(pytest.File):
    """A file with a case."""

    def collect(self) -> Iterable[pytest.Item]:
        """The case; it is read when it runs."""
        found = _NAME.search(_text(self.path))
        name = found[1] if found else self.path.stem
        yield CaseItem.from_parent(self, name=name)


class CaseFailure(Exception):
    """A case that did not pass, with the report for people."""


class CaseItem(pytest.Item):
    """A case."""

    def runtest(self) -> None:
        """Runs it as `celador test` does."""
        import celador

        report = celador.test(self.path)
        if not report:
            raise CaseFailure(str(report))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report of a case, which has its own way of showing what is wrong."""
        if isinstance(excinfo.value, CaseFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """What stands above a failure."""
        return self.path, None, f"case: {self.name}"
