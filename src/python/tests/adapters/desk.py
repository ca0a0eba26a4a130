"""The shop that all adapters are tried on: its policies, its tools, what a run came to.

In: a row of `scenarios.yaml`. Out: an agent of Celador for it, four tools that note how they were called, and an `Outcome` to be compared.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import celador
import yaml

HERE = pathlib.Path(__file__).parent
ALL = ("langchain", "openai_agents", "pydantic_ai", "google_adk", "agent_hooks")
SCENARIOS: list[dict[str, Any]] = yaml.safe_load((HERE / "scenarios.yaml").read_text())
BY_NAME: dict[str, dict[str, Any]] = {scenario["name"]: scenario for scenario in SCENARIOS}


def agent(scenario: dict[str, Any], **place: Any) -> celador.Agent:
    """The desk under its policies, with the limits of the scenario."""
    return celador.load({"desk.yaml": manifest(scenario)}, **place).agent("shop/desk")


def manifest(scenario: dict[str, Any]) -> str:
    text = (HERE / "desk.yaml").read_text()
    limits = scenario.get("limits")
    if "reviews" in scenario:
        text = text.replace("name: house\n", f"name: house\nreviews: {json.dumps(scenario['reviews'])}\n")
    return text if limits is None else f"{text}limits: {json.dumps(limits)}\n"


@contextlib.contextmanager
def at_server(scenario: dict[str, Any], folder: pathlib.Path, *options: str) -> Iterator[celador.Agent]:
    """The desk at a `celador serve` of its own."""
    (folder / "desk.yaml").write_text(manifest(scenario))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "celador", "serve", "--listen", address, "--store", "memory", *options, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            until_ready(f"http://{address}/readyz", server)
            yield celador.load(server=f"http://{address}").agent("shop/desk")
        finally:
            server.terminate()


def until_ready(address: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            assert server.poll() is None, "the server has ended"
            time.sleep(0.05)
    raise AssertionError("the server does not become ready")


class ToolFailure(Exception):
    """What a tool of the desk raises."""


class Shop:
    """The tools, as they would be without any framework. `ran` is what they were called with, in order."""

    def __init__(self) -> None:
        self.ran: list[list[Any]] = []
        self.pause = 0.0
        """How long a refund takes, in seconds."""

    def get_order(self, order: str) -> dict[str, Any]:
        """Looks an order up."""
        self.ran.append(["get_order", {"order": order}])
        if order == "broken":
            raise ToolFailure("the order cannot be read")
        return {"o1": {"status": "open", "total": 800}, "o2": {"status": "shipped", "card": "4111111111111111"}, "o3": {"status": "contested"}}[order]

    def close_order(self, order: str) -> str:
        """Closes an order."""
        self.ran.append(["close_order", {"order": order}])
        return "closed"

    def refund(self, order: str, amount: float) -> dict[str, Any]:
        """Pays money back."""
        self.ran.append(["refund", {"order": order, "amount": amount}])
        time.sleep(self.pause)
        return {"paid": amount}

    def send_mail(self, text: str, sender: str = "nobody") -> str:
        """Sends a mail to the customer."""
        self.ran.append(["send_mail", {"text": text, "sender": sender}])
        return "sent"

    @property
    def tools(self) -> list[Callable[..., Any]]:
        return [self.get_order, self.close_order, self.refund, self.send_mail]


@dataclasses.dataclass
class Outcome:
    """What a run came to, as each driver tells it."""

    final: str | None = None
    seen: dict[str, str] = dataclasses.field(default_factory=dict)
    """What the model was told of each call, by the id of the call."""
    prompts: str = ""
    """All that the model was sent, as one text."""
    streamed: str = ""
    """All that a follower of the stream was shown."""
    turns: int = 0
    asked: list[list[Any]] = dataclasses.field(default_factory=list)
    before_answers: list[Any] | None = None
    """What had run when the first answer was given."""


def compare(scenario: dict[str, Any], outcome: Outcome, shop: Shop, task: celador.Task, *, lists_held: bool) -> None:
    """Holds an outcome to its row."""
    expected: dict[str, Any] = scenario
    assert sorted(shop.ran, key=repr) == sorted(expected["ran"], key=repr)
    if "close_order" in [name for name, _ in shop.ran]:
        assert shop.ran == expected["ran"]
    assert expected["final"] in (outcome.final or ""), outcome.final
    for call, text in expected.get("seen", {}).items():
        assert text in outcome.seen[call], (call, outcome.seen)
    for text in expected.get("unsent", ()):
        assert text not in outcome.prompts
    for text in expected.get("sent", ()):
        assert text in outcome.prompts
    for text in expected.get("unseen", ()):
        assert text not in outcome.prompts
        assert text not in outcome.streamed
        assert text not in (outcome.final or "")
    if "turns" in expected:
        assert outcome.turns == expected["turns"]
    held = expected.get("held", []) if lists_held else []
    if "asked" in expected or not expected.get("answers"):
        assert outcome.asked == [[*asked, *held] for asked in expected.get("asked", [])]
    if "before_answers" in expected:
        assert sorted(outcome.before_answers or (), key=repr) == sorted(expected["before_answers"], key=repr)
    assert task.state == expected["state"]
    failed = task.evaluate("c.calls.filter(t, t.status == 'errored').size()")
    assert failed == len(expected.get("failed", ())), failed
    for call in expected.get("denied", ()):
        reviews = [review for review in task.reviews(state="all") if review.call == call]
        assert [review.state for review in reviews] == ["denied"]
        assert call in outcome.seen
    assert task.reviews() == []


def one_time(answers: Any, calls: list[str]) -> list[str | None]:
    """What is said at one time to the reviews of these calls: a list has it in the order of asking, and a mapping by call, so that others are left open."""
    if isinstance(answers, dict):
        return [answers.get(call) for call in calls]
    return [*answers[: len(calls)], *[None] * (len(calls) - len(answers))]


def shown(outcome: Outcome) -> bool:
    """Whether whoever follows the stream was shown how the run ended: all of its words, however the framework cuts them."""
    return all(word in outcome.streamed for word in (outcome.final or "").split())
