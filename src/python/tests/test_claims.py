"""Claims: of several processes with one task, one runs a call that was let through."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import celador
import shop

HELD = "thread-held"

CLAIMANT = """
import json, pathlib, sys, time
sys.path.insert(0, sys.argv[1])
import celador, shop

folder = pathlib.Path(sys.argv[2])
task = celador.load({"shop.yaml": shop.MANIFESTS}, store=sys.argv[3]).agent("shop/desk").task(sys.argv[4], user="u-1")
(folder / f"ready-{sys.argv[5]}").touch()
while not (folder / "go").exists():
    time.sleep(0.001)
try:
    with task.call("refund", {"order_id": "o1", "amount": 20}, id="c1") as call:
        time.sleep(0.2)
        call.result = {"paid": 20}
    print(json.dumps({"ran": True}))
except celador.CeladorError as error:
    print(json.dumps({"ran": False, "why": error.code}))
except celador.Denied as denied:
    print(json.dumps({"ran": False, "why": denied.decision.verdict}))
"""


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "tasks.db") if request.param == "sqlite" else str(request.getfixturevalue("postgres"))


def held(task: celador.Task) -> None:
    """Two refunds ask for a person. The first one is approved and held until the second one is answered."""
    task.before("get_order", {"order_id": "o1"}, id="c0")
    task.after("c0", shop.ORDER)
    turn = task.turn([("c1", "refund", {"order_id": "o1", "amount": 20}), ("c2", "refund", {"order_id": "o2", "amount": 30})])
    first, second = (call.review for call in turn.calls)
    assert first is not None and second is not None
    first.approve()
    assert task.standing("c1").verdict == "wait" and task.claim("c1", "early").verdict == "wait"
    second.deny()
    assert task.standing("c1").allowed


def test_of_processes_that_are_released_at_once_one_runs_the_call(store: str, tmp_path: Path) -> None:
    task = celador.load({"shop.yaml": shop.MANIFESTS}, store=store).agent("shop/desk").task(HELD, user="u-1")
    held(task)
    command = [sys.executable, "-c", CLAIMANT, str(Path(__file__).parent), str(tmp_path), store, HELD]
    processes = [subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, text=True) for number in range(3)]
    while len(list(tmp_path.glob("ready-*"))) < len(processes):
        assert all(process.poll() is None for process in processes)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    outcomes = [json.loads(process.communicate()[0]) for process in processes]
    assert sum(outcome["ran"] for outcome in outcomes) == 1, outcomes
    assert {outcome["why"] for outcome in outcomes if not outcome["ran"]} <= {"call_claimed", "rejected"}, outcomes
    assert task.evaluate("c.capabilities.refund.count_successful") == 1


@pytest.fixture(params=["memory", "sqlite"])
def open_task(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], celador.Task]:
    """A task with an open call, each time by another handle."""
    store = tmp_path / "tasks.db" if request.param == "sqlite" else None
    agent = celador.load({"shop.yaml": shop.MANIFESTS}, store=store).agent("shop/desk")
    agent.task("t-1", user="u-1").before("get_order", {"order_id": "o1"}, id="c1")
    return lambda: agent.task("t-1", user="u-1")


def test_one_claimant_is_allowed(open_task: Callable[[], celador.Task]) -> None:
    one, two = open_task(), open_task()
    assert one.claim("c1", "one").arguments == {"order_id": "o1"}
    assert one.claim("c1", "one").allowed
    with pytest.raises(celador.MisuseError) as refused:
        two.claim("c1", "two")
    assert refused.value.code == "call_claimed"
    with pytest.raises(celador.MisuseError) as refused:
        two.release("c1", "two")
    assert refused.value.code == "call_claimed"
    assert one.release("c1", "one").allowed and two.claim("c1", "two").allowed
    two.after("c1", {"status": "open"})
    assert one.claim("c1", "one").verdict == "rejected"
    for claimant in ("", "a\nb", "x" * 257):
        with pytest.raises(celador.MisuseError):
            one.claim("c1", claimant)


def test_a_call_with_an_id_is_entered_once(open_task: Callable[[], celador.Task]) -> None:
    with open_task().call("get_order", {"order_id": "o1"}, id="c1") as call:
        with pytest.raises(celador.MisuseError) as refused, open_task().call("get_order", {"order_id": "o1"}, id="c1"):
            pass
        assert refused.value.code == "call_claimed"
        call.result = {"status": "open"}
    assert call.value == {"status": "open"}
