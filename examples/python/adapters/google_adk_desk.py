"""A desk on Google's Agent Development Kit: one plugin holds it to `house.yaml`. The model is scripted, so that it runs without a key."""

import asyncio
import pathlib
from collections.abc import AsyncGenerator
from typing import Any

import celador.google_adk
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.genai import types


def get_order(order: str) -> dict[str, Any]:
    """Looks an order up."""
    return {"status": "broken", "total": 700, "card": "4111111111111111"}


def refund(order: str, amount: float) -> str:
    """Pays money back."""
    return f"{amount} is paid"


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        if len(llm_request.contents) > 1:
            yield LlmResponse(content=types.ModelContent("Your money is on its way."))
            return
        calls = [
            types.FunctionCall(id="c1", name="get_order", args={"order": "o1"}),
            types.FunctionCall(id="c2", name="refund", args={"order": "o1", "amount": 700}),
            types.FunctionCall(id="c3", name="refund", args={"order": "o1", "amount": 5000}),
        ]
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=call) for call in calls]))


tools = [FunctionTool(get_order), FunctionTool(refund)]
root = LlmAgent(name="desk", model=Scripted(model="scripted"), tools=[*tools])

# Up to here it is any agent of the ADK. The next statement and `plugins` are all that Celador asks for.
agent = celador.agent_for(celador.google_adk.tools(tools), pathlib.Path(__file__).with_name("house.yaml"), name="shop/desk")
runner = InMemoryRunner(app=App(name="desk", root_agent=root, plugins=[celador.google_adk.Plugin(agent)]))
runner.auto_create_session = True


async def say(content: types.Content) -> list[types.FunctionCall]:
    """Prints what happens, and gives back what is asked."""
    asked = []
    async for event in runner.run_async(user_id="u-7", session_id="thread-7", new_message=content):
        asked += [call for call in event.get_function_calls() if call.name == "adk_request_confirmation"]
        for response in event.get_function_responses():
            print("tool  ", response.response)
        for part in (event.content.parts if event.content else None) or ():
            if part.text:
                print("ai    ", part.text)
    return asked


async def main() -> None:
    answers = []
    for call in await say(types.UserContent("My lamp came broken.")):
        args: dict[str, Any] = call.args or {}
        print("asks  ", args["originalFunctionCall"]["name"], args["originalFunctionCall"]["args"], "-", args["toolConfirmation"]["hint"])
        answers.append(types.FunctionResponse(id=call.id, name=call.name, response={"confirmed": True}))
    await say(types.Content(role="user", parts=[types.Part(function_response=answer) for answer in answers]))


asyncio.run(main())
