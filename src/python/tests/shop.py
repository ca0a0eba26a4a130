"""The shop of the tests: an agent whose refunds need the order, and its lead for more than a little."""

from __future__ import annotations

MANIFESTS = """\
kind: celador/v1/tools
namespace: shop
name: orders
tools:
  - name: get_order
    inputSchema: {type: object, properties: {order_id: {type: string}}, required: [order_id]}
  - name: refund
    inputSchema: {type: object, properties: {order_id: {type: string}, amount: {type: number}, note: {type: string}}, required: [order_id, amount]}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: desk
description: Answers customers.
prompt: You answer customers of a shop.
guardrails:
  before:
    - assert: "input.message.all(part, !part.text.contains('4111'))"
  after:
    - assert: "output.message.all(part, !part.text.contains('secret'))"
capabilities:
  orders:
    before:
      - match: refund
        assert: input.amount <= context.capabilities.get_order.outputs[0].total
        error_message: The order was not worth {input.amount}.
      - match: refund
        condition: input.amount > 10
        assert: review('lead@example.com')
        error_message: The lead did not approve {input.amount}.
---
kind: celador/v1/policy
namespace: shop
name: notes
capabilities:
  refund:
    before:
      - {id: clean, set: {note: "'checked'"}}
      - {id: tell-risk, obligations: [{id: tell-risk, values: {amount: input.amount}}]}
    after:
      - {id: hide, transform: "{'paid': output.paid}"}
"""
"""Manifests and a policy."""

ORDER = {"total": 60, "customer": "kim"}
"""What `get_order` returns."""


def get_order(order_id: str) -> dict[str, object]:
    """Finds an order."""
    return dict(ORDER, id=order_id)


def refund(order_id: str, amount: float, note: str = "") -> dict[str, object]:
    """Pays money back."""
    return {"paid": amount, "order": order_id, "note": note, "internal": "ledger-7"}
