"""A desk on Pydantic AI: one capability holds it to `house.yaml`. The model is scripted, so that it runs without a key."""

import pathlib
from typing import Any

import celador.pydantic_ai
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def get_order(order: str) -> dict[str, Any]:
    """Looks an order up."""
    return {"status": "broken", "total": 700, "card": "4111111111111111"}


def refund(order: str, amount: float) -> str:
    """Pays money back."""
    return f"{amount} is paid"


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if len(messages) > 1:
        return ModelResponse([TextPart("Your money is on its way.")])
    return ModelResponse(
        [
            ToolCallPart("get_order", {"order": "o1"}, tool_call_id="c1"),
            ToolCallPart("refund", {"order": "o1", "amount": 700}, tool_call_id="c2"),
            ToolCallPart("refund", {"order": "o1", "amount": 5000}, tool_call_id="c3"),
        ]
    )


tools: list[Tool[Any]] = [Tool(get_order), Tool(refund)]

# The model and the tools are those of any agent of Pydantic AI. The next statement and `capabilities` are all that Celador asks for.
agent = celador.agent_for(celador.pydantic_ai.tools(tools), pathlib.Path(__file__).with_name("house.yaml"), name="shop/desk")
desk = Agent(FunctionModel(answer), tools=tools, capabilities=[celador.pydantic_ai.Guard(agent, user="u-7")], output_type=[str, DeferredToolRequests])

result = desk.run_sync("My lamp came broken.", conversation_id="thread-7")
assert isinstance(result.output, DeferredToolRequests)
for call in result.output.approvals:
    print("asks  ", call.tool_name, call.args, "-", result.output.metadata[call.tool_call_id]["text"])
approvals: Any = {call.tool_call_id: True for call in result.output.approvals}
result = desk.run_sync(message_history=result.all_messages(), deferred_tool_results=DeferredToolResults(approvals=approvals))
for message in result.all_messages():
    for part in message.parts:
        if part.part_kind == "tool-return":
            print("tool  ", part.content)
print("ai    ", result.output)
