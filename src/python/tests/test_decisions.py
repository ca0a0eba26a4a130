"""Decisions as values: what they say, that they never change, what they cost nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest

import celador
import shop


def test_an_allowed_call(agent: celador.Agent) -> None:
    task = agent.task("t-1", user="u-1")
    decision = task.before("get_order", {"order_id": "o1"}, id="call_1")
    assert decision and decision.allowed and not decision.pending
    assert (decision.verdict, decision.call, decision.kind, decision.function) == ("allow", "call_1", "call", "get_order")
    assert decision.arguments == {"order_id": "o1"} == decision.value
    assert (decision.message, decision.reviewer, decision.waits_for, decision.delay) == (None, None, (), None)
    seen = task.after("call_1", shop.ORDER)
    assert seen.value == shop.ORDER and seen.arguments == shop.ORDER
    assert task.before("get_order", {"order_id": "o1"}).call == "1"


def test_a_decision_never_changes(agent: celador.Agent) -> None:
    decision = agent.task().before("get_order", {"order_id": "o1"})
    decision.arguments["order_id"] = "o2"
    assert decision.arguments == {"order_id": "o1"}
    with pytest.raises(AttributeError):
        decision.verdict = "allow"  # type: ignore[misc]
    with pytest.raises(TypeError):
        celador.Decision()
    with pytest.raises(TypeError):

        class Mine(celador.Decision):  # type: ignore[misc]
            pass


def test_a_blocked_call_says_why(agent: celador.Agent) -> None:
    task = agent.task()
    task.before("get_order", {"order_id": "o1"}, id="c0")
    task.after("c0", shop.ORDER)
    decision = task.before("refund", {"order_id": "o1", "amount": 61}, id="c1")
    assert not decision
    assert (decision.verdict, decision.message) == ("block", "The order was not worth 61.")
    assert decision.decided_by is not None
    assert decision.decided_by.path == "capabilities.orders.before[0].assert"
    assert [(step.name, step.outcome) for step in decision.steps][-1] == ("before[0]", "fail")
    assert decision.steps[0].policy == "shop/notes#clean" and decision.steps[0].set == ("note",)
    whole = decision.to_dict()
    assert whole["verdict"] == "block" and whole.get("function") == "refund"
    assert json.loads(decision.to_json()) == whole
    assert repr(decision).startswith("<Decision block refund")
    assert "61" not in repr(decision)


def test_policies_set_transform_and_oblige(agent: celador.Agent) -> None:
    task = agent.task()
    task.before("get_order", {"order_id": "o1"}, id="c0")
    task.after("c0", shop.ORDER)
    decision = task.before("refund", {"order_id": "o1", "amount": 5, "note": "mine"}, id="c1")
    assert decision.arguments == {"order_id": "o1", "amount": 5, "note": "checked"}
    (obligation,) = decision.obligations
    assert (obligation.id, obligation.values, obligation.policy) == ("tell-risk", {"amount": 5}, "shop/notes#tell-risk")
    assert task.after("c1", shop.refund(**decision.arguments)).value == {"paid": 5}


def test_a_failed_tool(agent: celador.Agent) -> None:
    task = agent.task()
    task.before("get_order", {"order_id": "o1"}, id="c0")
    assert task.after("c0", "no such order", status="errored").value == "no such order"
    assert task.evaluate("context.capabilities.get_order.count_successful") == 0
    with pytest.raises(ValueError, match="successful"):
        task.after("c0", None, status="lost")  # type: ignore[arg-type]


def test_a_limit(agent: celador.Agent) -> None:
    manifests = shop.MANIFESTS.replace("guardrails:", "limits: {max_tool_calls: 1}\nguardrails:", 1)
    task = celador.load({"shop.yaml": manifests}).agent().task()
    assert task.limits()
    task.before("get_order", {"order_id": "o1"}, id="c0")
    decision = task.before("get_order", {"order_id": "o2"}, id="c1")
    assert (decision.verdict, decision.reason) == ("terminate", "limit_exceeded")
    assert decision.limit is not None
    assert (decision.limit.which, decision.limit.bound, decision.limit.value) == ("max_tool_calls", "1", "2")
    assert str(decision.limit) == "2 of 1 tool calls"


def test_messages_with_parameters() -> None:
    parameters = "parameters: {type: object, properties: {ticket_id: {type: string}}, required: [ticket_id]}"
    manifests = shop.MANIFESTS.replace("guardrails:", f"{parameters}\nguardrails:", 1)
    task = celador.load({"shop.yaml": manifests}).agent().task()
    said = task.input("Please look.", ticket_id="T-1")
    assert said and said.value["ticket_id"] == "T-1" and said.text == "Please look."
    assert said.kind == "input" and said.arguments == {}
    assert task.input([{"mimeType": "text/plain", "text": "Parts."}], ticket_id="T-1").text == "Parts."


def test_save_and_restore(agent: celador.Agent) -> None:
    policies = celador.load({"shop.yaml": shop.MANIFESTS})
    task = policies.agent().task("t-9", user={"id": "u-1", "email": "kim@example.com"})
    task.before("get_order", {"order_id": "o1"}, id="c0")
    saved = task.save()
    with pytest.raises(celador.MisuseError, match="in memory already"):
        celador.restore(policies, saved)
    task.purge()
    again = celador.restore(policies, saved)
    assert again.id == "t-9" and again.after("c0", shop.ORDER)
    with pytest.raises(celador.MisuseError):
        celador.restore(policies, "{}")


def test_an_agent_of_tools_alone() -> None:
    tools: list[Any] = [
        {"name": "read-file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}},
        {
            "name": "delete_file",
            "description": "Deletes a file.",
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
            "annotations": {"destructiveHint": True},
        },
    ]
    policy = {"files.yaml": "kind: celador/v1/policy\nnamespace: acme\nname: files\ncapabilities:\n  delete_file:\n    before: [{assert: \"input.path.startsWith('/tmp/')\", error_message: Only below /tmp.}]\n"}
    agent = celador.agent_for(tools, policy)
    task = agent.task()
    assert agent.name == "acme/agent"
    assert task.before("read-file", {"path": "/etc/passwd"}).arguments == {"path": "/etc/passwd"}
    assert task.before("delete_file", {"path": "/etc/passwd"}).message == "Only below /tmp."
    assert task.before("delete_file", {"path": "/tmp/a"})
    assert not task.before("shell", {"command": "ls"})
    only = celador.agent_for([{"name": "shell", "inputSchema": {"type": "object"}}], name="acme/one")
    assert only.name == "acme/one" and only.task().before("shell")
    assert celador.agent_for([]).task().input("Hello.")


def test_the_language_alone() -> None:
    assert celador.evaluate("[1, 2, 3].filter(x, x > least).map(x, x * 10)", least=1) == [20, 30]
    assert celador.evaluate("order.total * 2.0", order={"total": 1.5}) == 3.0
    with pytest.raises(celador.LoadError) as invalid:
        celador.evaluate("amuont > 1", amount=2)
    assert "did you mean `amount`?" in str(invalid.value)
    with pytest.raises(celador.MisuseError) as failed:
        celador.evaluate("1 / 0")
    assert failed.value.code == "divide_by_zero" or "zero" in str(failed.value)
