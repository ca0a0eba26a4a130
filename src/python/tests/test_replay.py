"""Recorded tasks judged anew: from files, from lines, and in parts whose tallies add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import celador


def lines(tasks: int) -> list[str]:
    """Tasks of a clerk who pays 60 and then 2,000, and what was decided."""
    steps = [
        {"agent": "shop/clerk", "at": "2026-06-01T12:00:00Z", "input": {"message": "Pay."}, "verdict": "allow"},
        {"call": {"id": "c1", "fn": "payout", "args": {"amount": 60}}, "verdict": "allow"},
        {"result": {"id": "c1", "output": {"paid": True}}, "verdict": "allow"},
        {"call": {"id": "c2", "fn": "payout", "args": {"amount": 2000}}, "verdict": "block"},
    ]
    return [json.dumps({"task": f"t-{task}", **step}) for task in range(tasks) for step in steps]


@pytest.fixture
def policies(root: Path) -> tuple[Path, Path]:
    return root / "examples/first-policy", root / "tests/data/replay/stricter"


def test_lines_and_files_are_judged_alike(tmp_path: Path, policies: tuple[Path, Path]) -> None:
    same, stricter = policies
    file = tmp_path / "recorded.jsonl"
    file.write_text("\n".join(lines(3)) + "\n")
    alike = celador.replay(file, policies=same)
    assert (alike["decisions"], alike["tasks"], alike["flips"], alike["rows"]) == (12, 3, 0, [])
    found = celador.replay(file, policies=[stricter])
    (flip,) = found["rows"]
    assert (flip.get("function"), flip["was"], flip["is"], flip["count"]) == ("payout", "allow", "suspend", 3)
    assert flip.get("is_by") == "capabilities.payout.before[1].assert"
    assert celador.replay_lines(lines(3), policies=stricter) == found
    assert celador.replay_lines((line.encode() for line in lines(3)), policies=stricter) == found
    against = celador.replay_lines(lines(3), policies=stricter, against=same)
    assert against["flips"] == 3


def test_parts_add_up(policies: tuple[Path, Path]) -> None:
    _, stricter = policies
    whole = celador.replay_lines(lines(4), policies=stricter)
    parts = [celador.replay_lines(lines(4)[at : at + 8], policies=stricter) for at in (0, 8)]
    assert celador.add_replays(parts) == whole
    assert celador.add_replays([])["decisions"] == 0
    # a task that is torn apart is told, as the second part has no beginning of it
    torn = [celador.replay_lines(part, policies=stricter) for part in (lines(1)[:2], lines(1)[2:])]
    assert celador.add_replays(torn)["not_judged"] == {"no_beginning": 2}


def test_what_cannot_be_read_is_an_exception(tmp_path: Path, policies: tuple[Path, Path]) -> None:
    same, _ = policies
    with pytest.raises(celador.MisuseError, match="line 2"):
        celador.replay_lines([lines(1)[0], '{"task": "t"}'], policies=same)
    with pytest.raises(celador.MisuseError, match="cannot read"):
        celador.replay(tmp_path / "nowhere.jsonl", policies=same)
    with pytest.raises(celador.LoadError):
        celador.replay_lines([], policies=tmp_path / "nowhere")
    with pytest.raises(TypeError):
        celador.replay_lines([7], policies=same)  # type: ignore[list-item]
