"""A recording as tables have it, and what all engines do with a part of it.

A row is a line of a step (docs/replay.md), beside it the task that it belongs to and its number in the recording. All lines of a task belong into one part, in the order of their numbers:
each engine divides the rows by `task` and sorts a part by `ORDER`, so that one task after the other is judged and no part holds many that are under way. `whole` refuses what was divided otherwise.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

import celador

ROOT = pathlib.Path(__file__).parents[3]
POLICIES = ROOT / "tests/data/replay/stricter"
ORDER = ("task", "number")


def write(path: pathlib.Path, tasks: int, calls: int) -> None:
    """Writes tasks of a clerk who pays, their lines mixed as they came."""
    steps = [{"agent": "shop/clerk", "at": "2026-06-01T12:00:00Z", "input": {"message": "Pay."}, "verdict": "allow"}]
    for call in range(calls):
        arguments = {"amount": 60 if call == 0 else 40}
        steps.append({"call": {"id": f"c{call}", "fn": "payout", "args": arguments}, "verdict": "allow"})
        steps.append({"result": {"id": f"c{call}", "output": {"paid": True}}, "verdict": "allow"})
    rows = [(f"t-{task}", json.dumps({"task": f"t-{task}", **step})) for step in steps for task in range(tasks)]
    names, lines = zip(*rows, strict=True)
    pq.write_table(pa.table({"task": names, "number": range(len(rows)), "line": lines}), path)


def judge(lines: Iterable[str], policies: pathlib.Path = POLICIES) -> str:
    """What comes of a part of a recording, as text, which every engine can carry."""
    return json.dumps(celador.replay_lines(lines, policies=policies))


def whole(tallies: Iterable[str]) -> celador.Replayed:
    """What comes of all parts together. Ends the program if a task has been torn apart, its lines are not in their order, or a part has held too many tasks."""
    found = celador.add_replays(json.loads(tally) for tally in tallies)
    lost = sum(found["not_judged"].get(reason, 0) for reason in ("no_beginning", "put_aside"))
    if lost:
        raise SystemExit(f"{lost} lines were not judged: divide the rows by `task`, and sort a part by {ORDER}")
    return found


def main(run: Callable[[pathlib.Path, int], Sequence[str]]) -> None:
    """Runs an engine on a recording: `--workers 2`, `--tasks 20000` and `--time` to measure it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--calls", type=int, default=4)
    parser.add_argument("--time", action="store_true")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "recording.parquet"
        write(path, said.tasks, said.calls)
        begun = time.perf_counter()
        found = whole(run(path, said.workers))
        took = time.perf_counter() - begun
    print(f"{found['decisions']} decisions of {found['tasks']} tasks, {found['flips']} decided otherwise")
    for row in found["rows"]:
        print(f"{row['count']} x {row['operation']} {row.get('function')}: {row['was']} becomes {row['is']}")
    if said.time:
        print(f"{said.workers} workers: {took:.1f} s, {found['decisions'] / took:.0f} decisions a second")
