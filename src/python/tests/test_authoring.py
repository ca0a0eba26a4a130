"""What authors ask, through the package: the same questions as of the command, with the same answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import celador
import shop

ROOT = Path(__file__).resolve().parents[3]
QUESTIONS = sorted((ROOT / "tests/data/bindings").glob("*.json"))

Body = dict[str, Any]

ASKED: dict[str, Callable[[Body], Any]] = {
    "analysis": lambda body: celador.analysis(*body["sources"]),
    "check": lambda body: [found.to_dict() for found in celador.check(*body["sources"])],
    "diff": lambda body: celador.diff(body["old"], body["new"]),
    "evaluate": lambda body: celador.evaluate(body["expression"], body["case"]),
    "explain": lambda body: celador.explain(**body),
    "fmt": lambda body: celador.fmt(Path(body["file"]).read_text("utf-8")),
    "mutate": lambda body: celador.test(*body["sources"], mutate=True).mutation,
    "prove": lambda body: celador.prove(**body),
    "replay": lambda body: celador.replay(*body["recorded"], policies=body["policies"], against=body.get("against")),
}
"""How the package asks what a file of `tests/data/bindings` asks."""

TYPES = {
    "analysis": "Analysis",
    "diff": "Differences",
    "explain": "Explained",
    "mutate": "Mutation",
    "prove": "Proofs",
    "replay": "Replayed",
}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda path: path.stem)
def test_answers(question: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    row = json.loads(question.read_text("utf-8"))
    assert ASKED[row["ask"]](row["body"]) == row["answer"]


def test_the_types_say_what_comes_out(tmp_path: Path, root: Path) -> None:
    """A checker compares each answer, written down as a literal, with its type: it refuses a member too many or too few."""
    pytest.importorskip("mypy")
    program = ["import celador"]
    for number, question in enumerate(QUESTIONS):
        row = json.loads(question.read_text("utf-8"))
        if row["ask"] in TYPES:
            program.append(f"answer_{number}: celador.{TYPES[row['ask']]} = {row['answer']!r}")
    assert len(program) > len(TYPES)
    file = tmp_path / "answers.py"
    check = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(root / "src/python/pyproject.toml"), str(file)]
    file.write_text("\n".join(program) + "\n")
    checked = subprocess.run(check, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    # one that is wrong is found
    file.write_text("\n".join([*program, "wrong: celador.Reached = {'depth': 1}"]) + "\n")
    assert subprocess.run(check, capture_output=True, check=False).returncode == 1


def test_mistakes_are_exceptions_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    first = "examples/first-policy/agent.yaml"
    with pytest.raises(celador.LoadError, match="cannot read"):
        celador.diff("nowhere", first)
    with pytest.raises(celador.LoadError) as refused:
        celador.prove(first, {"i.yaml": "kind: celador/v1/invariants\ninvariants: [{id: a, call: payout, always: inptu.amount < 3}]\n"})
    assert "^^^^^" in str(refused.value) and refused.value.diagnostics
    with pytest.raises(ValueError, match="one file"):
        celador.prove(first, {"a.yaml": "", "b.yaml": ""})
    with pytest.raises(celador.MisuseError) as unknown:
        celador.explain("tests/data/bindings/shop/task.yaml", step=99)
    assert unknown.value.code == "unknown_step"
    with pytest.raises(TypeError, match="not both"):
        celador.evaluate("x", "tests/data/bindings/shop/lead-is-asked.yaml", x=1)
    broken = tmp_path / "task.yaml"
    broken.write_text("agent: clerk\nsteps:\n  - call: {id: c1, fn: payout, args: {amount: 5}}\n  - result: {id: c9, output: 1}\n")
    (told,) = celador.explain(broken, manifests=first)["operations"]
    (finding,) = celador.explain(broken, manifests=first)["findings"]
    assert told["called"] == "call c1 payout" and "c9" in str(finding["shown"])
    assert celador.fmt("a: [") == "a: ["


def test_other_threads_run_while_something_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    monkeypatch.chdir(ROOT)
    counted, is_over = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not is_over.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    invariants = {"i.yaml": "kind: celador/v1/invariants\ninvariants: [{id: a, always: \"c.cap.payout.calls.all(t, t.output != 7)\"}]\n"}
    proofs = celador.prove("examples/first-policy/agent.yaml", invariants, operations=2_000)
    is_over.set()
    thread.join()
    assert proofs["unknown"] == 1 and counted > 3


def stopped(explained: celador.ExplainedDecision) -> celador.ExplainedStep:
    """The step that stopped the call."""
    return next(step for step in explained["steps"] if step["outcome"] != "pass")


def test_what_a_task_is_told_of_a_call(agent: celador.Agent) -> None:
    task = agent.task("thread-1", user="u-1")
    explained = task.explain("refund", {"order_id": "o1", "amount": 20})
    assert explained["decision"]["verdict"] == "block"
    step = stopped(explained)
    assert (step["step"], step["outcome"], step.get("function")) == ("before[0]", "fail", "refund")
    expression = step.get("expressions", [])[0]
    assert expression["key"] == "assert" and expression["tree"]["outcome"] in ("failed", "failed_below")
    # nothing of the task has changed
    assert task.evaluate("c.calls.size()") == 0
    for ask in (lambda: task.explain(version=1), task.events):
        with pytest.raises(celador.MisuseError) as none:
            ask()
        assert none.value.code == "no_events"
    with pytest.raises(TypeError, match="version"):
        task.explain()  # type: ignore[call-overload]


@pytest.mark.parametrize("place", ["sqlite", "server"])
def test_decisions_that_are_kept_are_explained(place: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if place == "sqlite":
        policies = celador.load({"shop.yaml": shop.MANIFESTS}, store=tmp_path / "tasks.db")
    else:
        policies = celador.load(server=request.getfixturevalue("server"))
    task = policies.agent("shop/desk").task("thread-2", user="u-1")
    assert not task.before("refund", {"order_id": "o1", "amount": 20}, id="c1")
    assert task.before("get_order", {"order_id": "o1"}, id="c2")
    assert task.after("c2", shop.ORDER)
    events = task.events()
    assert [event["operation"] for event in events] == ["started", "before", "before", "after"]
    blocked = events[1]["decision"]
    assert blocked is not None and blocked["verdict"] == "block"
    explained = task.explain(version=events[1]["version"])
    assert explained.get("same") is True and explained["decision"]["verdict"] == "block"
    assert stopped(explained)["outcome"] == "fail"
    # now the order is known, so that the same call would ask the lead
    now = task.explain("refund", {"order_id": "o1", "amount": 20})
    assert now["decision"]["verdict"] == "suspend" and stopped(now)["outcome"] == "suspend"
    with pytest.raises(celador.MisuseError) as result:
        task.explain(version=events[-1]["version"])
    assert result.value.code == "not_explainable"
