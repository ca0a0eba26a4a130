"""A runtime that speaks agent-hooks: an interceptor holds it to `house.yaml`. The calls are those that a model would make."""

import asyncio
import pathlib
from collections.abc import Sequence
from typing import Any

import celador.agent_hooks
from agent_hooks import AgentContextBuilder, InterceptionBlocked, InterceptionEmitter

ORDER = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
MONEY = {"type": "object", "properties": {"order": {"type": "string"}, "amount": {"type": "number"}}, "required": ["order", "amount"]}
TOOLS: dict[str, Any] = {
    "get_order": lambda order: {"status": "broken", "total": 700, "card": "4111111111111111"},
    "refund": lambda order, amount: f"{amount} is paid",
}
CALLS: list[dict[str, Any]] = [
    {"id": "c1", "name": "get_order", "args": {"order": "o1"}},
    {"id": "c2", "name": "refund", "args": {"order": "o1", "amount": 700}},
    {"id": "c3", "name": "refund", "args": {"order": "o1", "amount": 5000}},
]


def ask(reviews: Sequence[celador.Review]) -> list[bool]:
    for review in reviews:
        print("asks  ", review.function, review.arguments, "-", review.text)
    return [True for _ in reviews]


agent = celador.agent_for(
    [{"name": "get_order", "inputSchema": ORDER}, {"name": "refund", "inputSchema": MONEY}],
    pathlib.Path(__file__).with_name("house.yaml"),
    name="shop/desk",
)
interceptor = celador.agent_hooks.Interceptor(agent, user="u-7")
emitter = InterceptionEmitter(resolver=interceptor.resolver(ask)).register(interceptor)
build = AgentContextBuilder(agent_id="desk", framework="example", session_id="thread-7")


async def main() -> None:
    await emitter.emit(build.input(content="My lamp came broken."))
    await emitter.emit(build.post_model_call(model_id="m", content="", tool_calls=CALLS, finish_reason="tool_calls"))
    for call in CALLS:
        try:
            allowed = await emitter.emit(build.pre_tool_call(call_id=call["id"], name=call["name"], args=call["args"]))
            value = TOOLS[call["name"]](**allowed.target)
            told = await emitter.emit(build.post_tool_call(call_id=call["id"], name=call["name"], args=call["args"], value=value))
            print("tool  ", told.target)
        except InterceptionBlocked as blocked:
            print("tool  ", blocked.result.verdict.message)
    said = await emitter.emit(build.output(content="Your money is on its way."))
    print("ai    ", said.target["content"])


asyncio.run(main())
