"""One scenario in every place: `[get_order, refund → review]` in one turn, with another process in between where tasks outlive one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import celador
import servers
import shop

Open = Callable[[], celador.Agent]


@pytest.fixture(params=["memory", "sqlite", "postgres", "server"])
def open_agent(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the shop's agent; each time anew, unless its tasks are in memory."""
    manifests = {"shop.yaml": shop.MANIFESTS}
    match request.param:
        case "memory":
            kept = celador.load(manifests).agent("shop/desk")
            return lambda: kept
        case "sqlite":
            return lambda: celador.load(manifests, store=tmp_path / "tasks.db").agent("shop/desk")
        case "postgres":
            address: str = request.getfixturevalue("postgres")
            return lambda: celador.load(manifests, store=address).agent("shop/desk")
        case _:
            server: str = request.getfixturevalue("server")
            return lambda: celador.load(server=server).agent("shop/desk")


def turn_of(task: celador.Task, suffix: str = "") -> celador.Turn:
    return task.turn(
        [
            (f"call_1{suffix}", "get_order", {"order_id": "o1"}),
            (f"call_2{suffix}", "refund", {"order_id": "o1", "amount": 20}),
        ],
        prompt_tokens=640,
        completion_tokens=35,
        cost="0.0041",
    )


def test_a_turn_with_a_review(open_agent: Open, request: pytest.FixtureRequest) -> None:
    id = f"thread-{request.node.callspec.id}"
    task = open_agent().task(id, user="u-1")
    assert task.input("Order o1 came broken.")

    # the refund reads the order that is being looked for, so it waits for that call
    turn = turn_of(task)
    assert turn and turn.limits.verdict == "allow"
    order, refund = turn.calls
    assert (order.verdict, order.call, order.arguments) == ("allow", "call_1", {"order_id": "o1"})
    assert (refund.verdict, refund.waits_for, bool(refund)) == ("wait", ("call_1",), False)
    ((awaited, reads),) = refund.because
    assert (awaited, reads.file.endswith(".yaml"), reads.line > 1) == ("call_1", True, True)

    # another process has the result, if tasks outlive one
    task = open_agent().task(id, user="u-1")
    results = task.results([("call_1", shop.get_order(**order.arguments))])
    assert results.calls[0].value == shop.get_order("o1")
    (refund,) = results.decided
    assert (refund.verdict, refund.call, refund.function) == ("suspend", "call_2", "refund")
    assert refund.reviewer == "lead@example.com" and refund.asks == {"review": {"reviewer": "lead@example.com"}}
    assert refund.decided_by is not None and refund.decided_by.file.endswith("shop.yaml") and refund.decided_by.line > 0
    assert refund.steps[-1].outcome == "suspend"
    assert task.state in ("suspended", "active")

    # the lead sees what they approve, and only they may
    agent = open_agent()
    (review,) = [review for review in agent.reviews() if review.task == id]
    assert (review.function, review.state, review.call) == ("refund", "open", "call_2")
    assert review.arguments == {"order_id": "o1", "amount": 20, "note": "checked"}
    assert review.text == "May `refund` run with these arguments?"
    if task.place == "server":
        with pytest.raises(celador.MisuseError, match="by the token"):
            review.approve(by="lead@example.com")
        review = review.approve(note="fine")
    else:
        with pytest.raises(celador.MisuseError) as refused:
            review.approve(by="u-1")
        assert refused.value.code == "not_addressed"
        review = review.approve(note="fine", by="lead@example.com")
        assert review.answered is not None and review.answered["by"] is not None
        assert review.answered["by"].get("email") == "lead@example.com"
    assert (review.state, review.answered and review.answered["note"]) == ("approved", "fine")
    with pytest.raises(celador.MisuseError) as closed:
        review.deny()
    assert closed.value.code == "review_closed"

    # the call goes on with its arguments as the policy left them
    task = open_agent().task(id, user="u-1")
    refund = task.standing("call_2")
    assert refund and refund.arguments == {"order_id": "o1", "amount": 20, "note": "checked"}
    assert [obligation.values for obligation in refund.obligations] == [{"amount": 20}]
    seen = task.after("call_2", shop.refund(**refund.arguments))
    assert seen and seen.value == {"paid": 20}
    assert task.output("Your money is on its way.").text == "Your money is on its way."

    # the same turn and result again change nothing
    again = turn_of(task)
    assert [call.verdict for call in again.calls] == ["rejected", "rejected"]
    assert task.after("call_2", shop.refund(**refund.arguments)).verdict == "rejected"
    with pytest.raises(celador.MisuseError) as other:
        task.after("call_2", {"paid": 21})
    assert other.value.code == "other_result"
    assert task.evaluate("context.capabilities.refund.count_successful") == 1


def test_what_a_person_denies_and_edits(open_agent: Open, request: pytest.FixtureRequest) -> None:
    task = open_agent().task(f"edited-{request.node.callspec.id}", user="u-1")
    assert task.before("get_order", {"order_id": "o1"}, id="c0")
    task.after("c0", shop.ORDER)
    asked = task.before("refund", {"order_id": "o1", "amount": 30}, id="c1")
    assert asked.verdict == "suspend" and asked.pending and asked.question is not None
    assert asked.review is not None and asked.review.reviewer == "lead@example.com"
    edited = task.resume({"answer": "edit", "arguments": {"order_id": "o1", "amount": 5}}, question=asked.question)
    assert edited and edited.arguments["amount"] == 5

    asked = task.before("refund", {"order_id": "o1", "amount": 40}, id="c2")
    denied = task.resume(False, question=asked.question)
    assert (denied.verdict, denied.message) == ("block", "The lead did not approve 40.")
    asked = task.before("refund", {"order_id": "o1", "amount": 41}, id="c3")
    assert asked.review is not None
    assert asked.review.respond({"paid": 0, "why": "a voucher"}).state == "responded"
    assert task.standing("c3").verdict in ("respond", "rejected")

    # a call that the user takes back
    assert task.before("refund", {"order_id": "o1", "amount": 6}, id="c4")
    assert task.withdraw("c4").verdict == "block"
    assert task.withdraw("c1", ran="unknown").verdict == "block"
    assert task.check("context.nope") and not task.check("context.capabilities.refund.count_successful == 0")
    assert {offer["name"] for offer in task.offers()} == {"get_order", "refund"}
    assert task.context("agent")["agent"]["name"] == "desk"


def test_what_is_refused_is_refused_alike(open_agent: Open, request: pytest.FixtureRequest) -> None:
    agent = open_agent()
    id = f"refused-{request.node.callspec.id}"
    task = agent.task(id, user="u-1")
    blocked = task.input("My card is 4111 1111 1111 1111.")
    assert not blocked and blocked.verdict == "lock_task"
    assert task.state == "locked"
    assert task.before("get_order", {"order_id": "o1"}).verdict == "rejected"
    with pytest.raises(celador.MisuseError) as exists:
        agent.task(id, user="u-2")
    assert exists.value.code == "task_exists"

    other = agent.task(id + "-b", user="u-1")
    wrong = other.before("refund", {"order_id": "o1", "amount": "much"}, id="c1")
    assert not wrong and wrong.message
    nowhere = other.before("delete_everything", {}, id="c2")
    assert not nowhere and "delete_everything" in (nowhere.message or "")
    with pytest.raises(celador.MisuseError) as unknown:
        other.after("c9", {})
    assert unknown.value.code == "unknown_call"
    with pytest.raises(celador.LoadError) as invalid:
        other.evaluate("input.amuont + nope")
    assert "^" in str(invalid.value) and invalid.value.diagnostics[0].code == "undeclared_name"
    with pytest.raises(celador.MisuseError) as failed:
        other.evaluate("[1][3]")
    assert "^" in str(failed.value)
    assert other.end("enough").verdict == "terminate"
    assert other.state == "terminated"
    other.purge("the test is over")
    with pytest.raises(celador.MisuseError) as gone:
        other.before("get_order", {"order_id": "o1"})
    assert gone.value.code == "purged"


def test_waiting_for_somebody_else(open_agent: Open, request: pytest.FixtureRequest) -> None:
    import threading

    agent = open_agent()
    id = f"waiting-{request.node.callspec.id}"
    task = agent.task(id, user="u-1")
    task.before("get_order", {"order_id": "o1"}, id="c0")
    task.after("c0", shop.ORDER)
    told: list[celador.Decision] = []
    waiting = threading.Thread(
        target=lambda: told.append(task.before("refund", {"order_id": "o1", "amount": 30}, id="c1", wait=20.0))
    )
    waiting.start()
    review = None
    while review is None:
        review = next((review for review in agent.reviews() if review.task == id), None)
    review.approve()
    waiting.join(20)
    assert told and told[0].verdict == "allow"


STORY = """
import sys, celador, shop
agent = celador.load({"shop.yaml": shop.MANIFESTS}, store=sys.argv[1]).agent("shop/desk")
task = agent.task("thread-9", user="u-1")
task.before("get_order", {"order_id": "o1"}, id="c0")
task.after("c0", shop.ORDER)
print(task.before("refund", {"order_id": "o1", "amount": 30}, id="c1").verdict)
"""


def test_another_process_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "tasks.db"
    for _ in range(2):  # the second sends everything again
        ran = subprocess.run([sys.executable, "-c", STORY, str(store)], capture_output=True, text=True, cwd=Path(__file__).parent)
        assert ran.stdout == "suspend\n", ran.stderr
    agent = celador.load({"shop.yaml": shop.MANIFESTS}, store=store).agent()
    (review,) = agent.reviews()
    review.approve()
    assert agent.task("thread-9", user="u-1").standing("c1")


def test_a_server_that_was_away(tmp_path: Path, manifests: Path) -> None:
    port, store = servers.free_port(), str(tmp_path / "server.db")
    server = servers.start_server(manifests, port, store)
    task = celador.load(server=f"http://127.0.0.1:{port}").agent("shop/desk").task("t-1", user="u-1")
    assert task.before("get_order", {"order_id": "o1"}, id="c0")
    servers.stop_server(server)
    with pytest.raises(celador.StoreError) as away:
        task.after("c0", shop.ORDER)
    assert away.value.code in ("unreachable", "broken")
    # the connection that was kept is gone, and the handle is as good as before
    server = servers.start_server(manifests, port, store)
    assert task.after("c0", shop.ORDER).value == shop.ORDER
    servers.stop_server(server)


def test_a_server_with_tokens(tmp_path: Path, manifests: Path) -> None:
    import hashlib
    import json

    scopes = ["tasks:read", "tasks:write", "reviews:read", "reviews:write"]
    rows = [
        {"sha256": hashlib.sha256(b"of-the-desk").hexdigest(), "identity": "desk", "scopes": scopes},
        {"sha256": hashlib.sha256(b"of-the-lead").hexdigest(), "identity": "lead", "email": "lead@example.com", "scopes": scopes},
    ]
    (tmp_path / "tokens.json").write_text(json.dumps({"tokens": rows}))
    port = servers.free_port()
    server = servers.start_server(manifests, port, "memory", "--tokens", str(tmp_path / "tokens.json"))
    address = f"http://127.0.0.1:{port}"

    def desk(token: str | None) -> celador.Agent:
        return celador.load(server=address, token=token).agent("shop/desk")

    for token in (None, "of-nobody"):
        with pytest.raises(celador.MisuseError) as unknown:
            desk(token).task("t-1", user="u-1")
        assert unknown.value.code == "unauthenticated"
    task = desk("of-the-desk").task("t-1", user="u-1")
    task.before("get_order", {"order_id": "o1"}, id="c0")
    task.after("c0", shop.ORDER)
    asked = task.before("refund", {"order_id": "o1", "amount": 30}, id="c1")
    assert asked.review is not None
    with pytest.raises(celador.MisuseError) as not_theirs:
        asked.review.approve()
    assert not_theirs.value.code == "not_addressed"
    (review,) = desk("of-the-lead").reviews()
    answered = review.approve(note="yes").answered
    assert answered is not None and answered["by"] is not None and answered["by"]["subject"] == "lead"
    assert task.standing("c1", wait=5.0)
    servers.stop_server(server)


def test_nothing_is_stopped_where_policies_are_observed(tmp_path: Path) -> None:
    for store in (None, tmp_path / "tasks.db"):
        agent = celador.load({"shop.yaml": shop.MANIFESTS}, store=store, observe=True).agent()
        task = agent.task("t-1", user="u-1")
        task.before("get_order", {"order_id": "o1"}, id="c0")
        task.after("c0", shop.ORDER)
        decision = task.before("refund", {"order_id": "o1", "amount": 61, "note": "mine"}, id="c1")
        assert decision and decision.arguments == {"order_id": "o1", "amount": 61, "note": "mine"}
        assert decision.enforced is not None
        assert (decision.enforced["verdict"], decision.enforced.get("message")) == ("block", "The order was not worth 61.")
        assert any(step.outcome == "fail" for step in decision.observed)
    with pytest.raises(celador.MisuseError, match="--observe"):
        celador.load(server="http://127.0.0.1:1", observe=True)
