"""A desk on the OpenAI Agents SDK: `guard` holds it to `house.yaml`. The model is scripted, so that it runs without a key."""

import asyncio
import pathlib
from typing import Any

import celador.openai_agents
from agents import Agent, FunctionTool, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call


@function_tool
def get_order(order: str) -> dict[str, Any]:
    """Looks an order up."""
    return {"status": "broken", "total": 700, "card": "4111111111111111"}


@function_tool
def refund(order: str, amount: float) -> str:
    """Pays money back."""
    return f"{amount} is paid"


tools: list[FunctionTool] = [get_order, refund]
model = ScriptedModel(
    [
        [
            function_call("get_order", {"order": "o1"}, call_id="c1"),
            function_call("refund", {"order": "o1", "amount": 700}, call_id="c2"),
            function_call("refund", {"order": "o1", "amount": 5000}, call_id="c3"),
        ],
        [assistant_message("Your money is on its way.")],
    ]
)
assistant: Agent[None] = Agent("desk", model=model, tools=[*tools])

# Up to here it is any agent of the SDK. The next two statements are all that Celador asks for.
agent = celador.agent_for(celador.openai_agents.tools(tools), pathlib.Path(__file__).with_name("house.yaml"), name="shop/desk")
desk = celador.openai_agents.guard(assistant, agent.task("thread-7", "u-7"))


async def main() -> None:
    result = await Runner.run(desk, "My lamp came broken.")
    state = result.to_state()
    for item in result.interruptions:
        print("asks  ", item.name, item.arguments)
        state.approve(item)
    result = await Runner.run(desk, state)
    outputs: list[Any] = result.to_input_list()
    for output in outputs:
        if output.get("type") == "function_call_output":
            print("tool  ", output["output"])
    print("ai    ", result.final_output)


set_tracing_disabled(True)
asyncio.run(main())
