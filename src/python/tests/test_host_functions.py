"""Functions of the program that policies call: registered, absent, failing, and called from many threads."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import celador

TOOLS = """\
kind: celador/v1/tools
namespace: shop
name: orders
tools:
  - {name: refund, inputSchema: {type: object, properties: {customer: {type: string}, amount: {type: number}}, required: [customer, amount]}}
"""

AGENT = """\
kind: commonagents.info/v1beta2/agent
namespace: shop
name: desk
description: Answers customers.
prompt: You answer customers of a shop.
capabilities: {orders: "*"}
"""

RISK = """\
kind: celador/v1/policy
namespace: shop
name: risk
functions:
  crm.tier: {parameters: [customer: string], result: string, cost: {call: 20}}
  risk.score: {parameters: [amount: double, of: "map(string, list(int))"], result: double}
capabilities:
  refund:
    before:
      - {id: known, assert: "crm.tier(input.customer) in ['gold', 'silver']", error_message: Not a customer.}
      - {id: low, assert: "risk.score(input.amount, {'a': [1, 2]}) < 5.0"}
"""

MANIFESTS = {"shop.yaml": "---\n".join([TOOLS, AGENT, RISK])}

SECRET = "kim@example.com"


def tier(customer: str) -> str:
    return {"c-1": "gold", "c-2": "bronze"}[customer]


def score(amount: float, of: dict[str, list[int]]) -> float:
    assert of == {"a": [1, 2]} and isinstance(amount, float)
    return amount / 100


FUNCTIONS: dict[str, Callable[..., Any]] = {"crm.tier": tier, "risk.score": score}


def decide(functions: dict[str, Any], customer: str = "c-1", amount: float = 20, **where: Any) -> celador.Decision:
    agent = celador.load(MANIFESTS, functions=functions, **where).agent("shop/desk")
    return agent.task().before("refund", {"customer": customer, "amount": amount})


@pytest.fixture(params=["memory", "store"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Where tasks are kept."""
    return {} if request.param == "memory" else {"store": tmp_path / "tasks.db"}


def test_what_the_functions_give_decides(where: dict[str, Any]) -> None:
    assert decide(FUNCTIONS, **where).allowed
    refused = decide(FUNCTIONS, "c-2", **where)
    assert (refused.verdict, refused.message, refused.findings) == ("block", "Not a customer.", ())
    # 400 is a whole number, and the parameter a double
    assert decide(FUNCTIONS, amount=400, **where).allowed
    assert decide(FUNCTIONS, amount=900.5, **where).verdict == "block"


def test_an_agent_of_tools_alone_has_functions() -> None:
    tool: celador.Tool = {"name": "refund", "inputSchema": {"type": "object", "properties": {"customer": {"type": "string"}}}}
    policy = RISK.split("      - {id: low")[0].replace("  risk.score", "  # risk.score")
    agent = celador.agent_for([tool], {"risk.yaml": policy}, functions={"crm.tier": tier})
    assert agent.task().before("refund", {"customer": "c-1"}).allowed
    assert agent.task().before("refund", {"customer": "c-2"}).verdict == "block"


def test_a_policy_whose_functions_are_missing_is_refused() -> None:
    given: list[dict[str, Callable[..., Any]] | None] = [{}, {"crm.tier": tier}, {"crm.tiers": tier, "risk.score": score}, None]
    for functions in given:
        with pytest.raises(celador.LoadError) as refused:
            celador.load(MANIFESTS, functions=functions)
        assert {found.code for found in refused.value.diagnostics} == {"unregistered_function"}
    # who only finds out what policies do needs none
    assert celador.check(MANIFESTS) == []


async def later(customer: str) -> str:
    return "gold"


class Later:
    def __call__(self, customer: str) -> Any:
        return later(customer)

    def __repr__(self) -> str:
        return SECRET


def failing(error: BaseException) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        raise error

    return function


def recursive(customer: str) -> Any:
    whole: list[Any] = []
    whole.append(whole)
    return whole


RAISED, AWAITED = "its function has raised an exception", "its function gives something to be awaited"
NO_JSON, OTHER = "its value is not JSON", "its value is not of the declared type"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("function", "why"),
    [
        (failing(ValueError(SECRET)), RAISED),
        (failing(SystemExit(SECRET)), RAISED),
        (lambda: "gold", RAISED),
        (lambda customer: later(customer), AWAITED),
        (Later(), AWAITED),
        (lambda customer: iter("gold"), NO_JSON),
        (lambda customer: b"gold", NO_JSON),
        (lambda customer: {"gold"}, NO_JSON),
        (lambda customer: "\ud800", NO_JSON),
        (lambda customer: {1: "gold"}, NO_JSON),
        (recursive, NO_JSON),
        (lambda customer: None, OTHER),
        (lambda customer: 1, OTHER),
        (lambda customer: True, OTHER),
        (lambda customer: ["gold"], OTHER),
    ],
)
def test_a_function_that_fails_fails_the_step(
    function: Callable[..., Any], why: str, where: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        decision = decide({"crm.tier": function, "risk.score": score}, **where)
    assert decision.verdict == "block"
    (found,) = decision.findings
    assert (found.code, found.message) == ("host_failed", f"the host could not answer for `crm.tier`: {why}")
    assert SECRET not in json.dumps(decision.to_dict()) + caplog.text
    told = [record.getMessage() for record in caplog.records if record.name == "celador"]
    assert len(told) == (1 if why == RAISED else 0), told


@pytest.mark.parametrize("value", [True, "1.0", None, 2**53 + 1, 10**400, [1.0], float("nan"), float("inf")])
def test_a_value_of_another_type_never_comes_through(value: Any) -> None:
    decision = decide({"crm.tier": tier, "risk.score": lambda amount, of: value})
    assert (decision.verdict, [found.code for found in decision.findings]) == ("block", ["host_failed"])


def test_what_is_no_function_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="coroutine function"):
        celador.load(MANIFESTS, functions={"crm.tier": later})
    with pytest.raises(TypeError, match="expected a function as `crm.tier`, found `str`"):
        celador.load(MANIFESTS, functions={"crm.tier": "gold"})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="mapping of names"):
        celador.load(MANIFESTS, functions=[tier])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        celador.load(MANIFESTS, functions={7: tier})  # type: ignore[dict-item]
    with pytest.raises(celador.MisuseError, match="functions of a host"):
        celador.load(server="http://127.0.0.1:9", functions={"crm.tier": tier})


def test_the_arguments_are_values_of_their_own() -> None:
    def change(amount: float, of: dict[str, list[int]]) -> float:
        of["a"].append(7)
        of.clear()
        return amount

    agent = celador.load(MANIFESTS, functions={"crm.tier": tier, "risk.score": change}).agent()
    task = agent.task()
    for _ in range(2):
        assert task.before("refund", {"customer": "c-1", "amount": 2}).arguments == {"customer": "c-1", "amount": 2}


def test_a_function_may_not_ask_the_engine(where: dict[str, Any]) -> None:
    asked: list[str] = []
    tasks: list[celador.Task] = []

    def asking(customer: str) -> str:
        for ask in (
            lambda: tasks[0].before("refund", {"customer": "c-1", "amount": 2}),
            lambda: tasks[0].state,
            lambda: celador.evaluate("1 + 1"),
        ):
            with pytest.raises(celador.MisuseError) as refused:
                ask()
            asked.append(refused.value.code)
        return "gold"

    agent = celador.load(MANIFESTS, functions={"crm.tier": asking, "risk.score": score}, **where).agent()
    tasks.append(agent.task())
    assert tasks[0].before("refund", {"customer": "c-1", "amount": 2}).allowed
    assert set(asked) == {"within_function"}
    assert tasks[0].state == "active"


def test_threads_wait_for_no_lock_while_they_hold_the_interpreter() -> None:
    """A function lets go of the interpreter while its task is held; others on the same task wait for it without it."""
    began, done = threading.Event(), threading.Event()

    def slow(customer: str) -> str:
        began.set()
        done.wait(0.01)
        return "gold"

    task = celador.load(MANIFESTS, functions={"crm.tier": slow, "risk.score": score}).agent().task("t-1")
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(task.before, "refund", {"customer": "c-1", "amount": 2}) for _ in range(40)]
        assert all(call.result(timeout=60).allowed for call in calls)


def test_coroutines() -> None:
    task = celador.load(MANIFESTS, functions={"crm.tier": tier, "risk.score": score}).agent().task("t-1")

    async def decided() -> list[bool]:
        async def one(customer: str) -> bool:
            return (await asyncio.to_thread(task.before, "refund", {"customer": customer, "amount": 2})).allowed

        return await asyncio.gather(*(one(customer) for customer in ("c-1", "c-2") * 10))

    assert asyncio.run(decided()) == [True, False] * 10


def test_a_saved_task_asks_the_functions_of_its_policies() -> None:
    policies = celador.load(MANIFESTS, functions={"crm.tier": tier, "risk.score": score})
    task = policies.agent().task("t-1")
    saved = task.save()
    other = celador.load(MANIFESTS, functions={"crm.tier": lambda customer: "none", "risk.score": score})
    assert celador.restore(other, saved).before("refund", {"customer": "c-1", "amount": 2}).verdict == "block"


def test_an_interruption_fails_the_step_and_is_raised_after_it() -> None:
    # a process that was started in the background ignores the signal, and has no handler for it
    program = f"""
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import celador
def interrupted(customer):
    raise KeyboardInterrupt
functions = {{"crm.tier": interrupted, "risk.score": lambda amount, of: 1.0}}
task = celador.load({MANIFESTS!r}, functions=functions).agent().task()
try:
    decision = task.before("refund", {{"customer": "c-1", "amount": 2}})
    print(decision.verdict)
    for _ in range(1000): pass
except KeyboardInterrupt:
    print("interrupted")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ran.stdout.splitlines()[-1] == "interrupted" and "allow" not in ran.stdout, ran


def lines(verdicts: tuple[str, str]) -> Iterator[str]:
    """A task with a refund for each of two customers."""
    beginning = {"task": "t-1", "agent": "shop/desk", "at": "2026-06-01T12:00:00Z", "input": {"message": "Pay."}, "verdict": "allow"}
    yield json.dumps(beginning)
    for at, verdict in enumerate(verdicts):
        call = {"id": f"c{at}", "fn": "refund", "args": {"customer": f"c-{at + 1}", "amount": 2}}
        yield json.dumps({"task": "t-1", "call": call, "verdict": verdict})


def test_recorded_steps_are_judged_with_functions(tmp_path: Path) -> None:
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text("\n".join(lines(("allow", "block"))))
    found = celador.replay(recorded, policies=MANIFESTS, functions=FUNCTIONS)
    assert (found["decisions"], found["flips"]) == (3, 0)
    assert celador.replay_lines(lines(("allow", "allow")), policies=MANIFESTS, functions=FUNCTIONS)["flips"] == 1
    with pytest.raises(celador.LoadError, match="registered no function"):
        celador.replay(recorded, policies=MANIFESTS)


def test_recorded_steps_are_judged_with_a_key(tmp_path: Path) -> None:
    policy = """\
kind: celador/v1/policy
namespace: shop
name: known
capabilities:
  refund: {before: [{id: known, assert: "pii.hash(input.customer) == '%s'"}]}
"""
    key = b"0123456789abcdef"
    task = celador.agent_for(
        [{"name": "refund", "inputSchema": {"type": "object", "properties": {"customer": {"type": "string"}}}}],
        {"probe.yaml": policy.replace("assert: \"pii.hash(input.customer) == '%s'\"", "set: {customer: pii.hash(input.customer)}")},
        hash_key=key,
    ).task()
    digest = task.before("refund", {"customer": "c-1"}).arguments["customer"]
    manifests = {"shop.yaml": "---\n".join([TOOLS, AGENT, policy % digest])}
    judged = celador.replay_lines(lines(("allow", "block")), policies=manifests, hash_key=key)
    assert (judged["decisions"], judged["flips"]) == (3, 0)
    other = celador.replay_lines(lines(("allow", "block")), policies=manifests, hash_key=b"another key of 16")
    assert other["flips"] == 1
    with pytest.raises(celador.LoadError, match="pii.hash"):
        celador.replay_lines(lines(("allow", "block")), policies=manifests)
