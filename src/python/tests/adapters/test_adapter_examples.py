"""Each example runs as it stands, and prints what stands beside it. `UPDATE_EXPECT=1` writes that."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[4] / "examples/python/adapters"


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*_desk.py")))
def test_an_example(example: str) -> None:
    command = [sys.executable, "-W", "ignore", example]
    printed = subprocess.run(command, cwd=EXAMPLES, check=True, stdout=subprocess.PIPE, text=True).stdout
    expected = (EXAMPLES / example).with_suffix(".txt")
    if os.environ.get("UPDATE_EXPECT"):
        expected.write_text(printed)
    assert printed == expected.read_text()
