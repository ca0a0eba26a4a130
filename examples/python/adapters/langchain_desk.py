"""A desk on LangChain: one middleware holds it to `house.yaml`. The model is scripted, so that it runs without a key."""

import pathlib
from typing import Any

import celador.langchain
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command


@tool
def get_order(order: str) -> dict[str, Any]:
    """Looks an order up."""
    return {"status": "broken", "total": 700, "card": "4111111111111111"}


@tool
def refund(order: str, amount: float) -> str:
    """Pays money back."""
    return f"{amount} is paid"


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        return self


def call(id: str, name: str, **args: Any) -> ToolCall:
    return ToolCall(id=id, name=name, args=args)


model = Scripted(
    messages=iter(
        [
            AIMessage(
                "",
                tool_calls=[
                    call("c1", "get_order", order="o1"),
                    call("c2", "refund", order="o1", amount=700),
                    call("c3", "refund", order="o1", amount=5000),
                ],
            ),
            AIMessage("Your money is on its way."),
        ]
    )
)

# Up to here it is any agent of LangChain. The next two statements are all that Celador asks for.
agent = celador.agent_for(celador.langchain.tools([get_order, refund]), pathlib.Path(__file__).with_name("house.yaml"), name="shop/desk")
desk = create_agent(model, [get_order, refund], middleware=[celador.langchain.Middleware(agent, user="u-7")], checkpointer=InMemorySaver())

thread: Any = {"configurable": {"thread_id": "thread-7"}}
desk.invoke({"messages": [{"role": "user", "content": "My lamp came broken."}]}, thread)
(asked,) = desk.get_state(thread).interrupts
for action in asked.value["action_requests"]:
    print("asks  ", action["name"], action["args"], "-", action["description"])
result = desk.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
for message in result["messages"]:
    print(f"{message.type:6}", message.text)
