"""The functions of docs/python-adapters.md by which a second process goes on after a review: each is run as it stands there, on what a first process has left."""

from __future__ import annotations

import asyncio
import importlib
import json
import pathlib
import re
from typing import Any

import pytest

import desk

PAGE = (desk.HERE.parents[3] / "docs/python-adapters.md").read_text()
BLOCKS = {block.split(":")[0]: block for block in re.findall(r"^```python\n# (.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)}


def go_on(title: str) -> Any:
    """The function of a block. Its comment is the first line."""
    names: dict[str, Any] = {}
    exec(f"# {BLOCKS[title]}", names)  # noqa: S102
    return names["go_on"]


@pytest.mark.parametrize(("framework", "title"), [("langchain", "LangChain"), ("openai_agents", "OpenAI Agents SDK"), ("pydantic_ai", "Pydantic AI"), ("google_adk", "ADK")])
def test_a_second_process_goes_on(framework: str, title: str, tmp_path: pathlib.Path) -> None:
    driver = importlib.import_module(f"drive_{framework}")
    scenario = desk.BY_NAME["a denial, after which the task goes on"]
    driver.leave(desk.agent(scenario, store=tmp_path / "celador.db"), scenario, desk.Shop(), desk.Outcome(), tmp_path)
    agent, shop = desk.agent(scenario, store=tmp_path / "celador.db"), desk.Shop()
    told = repr({"langchain": langchain, "openai_agents": openai, "pydantic_ai": pydantic, "google_adk": adk}[framework](go_on(title), driver, agent, shop, scenario, tmp_path))
    assert scenario["final"] in told
    assert shop.ran == scenario["ran"][1:]
    assert {review.call: review.state for review in agent.task("thread-1", "u-1").reviews(state="all")} == {"c2": "approved", "c3": "denied"}


def langchain(go_on: Any, driver: Any, agent: Any, shop: desk.Shop, scenario: Any, folder: pathlib.Path) -> Any:
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(str(folder / "langgraph.db")) as saver:
        decisions = [{"type": "approve"}, {"type": "reject", "message": "No."}]
        return go_on(agent, driver.Scripted(script=scenario["script"]), shop.tools, saver, "thread-1", decisions)


def openai(go_on: Any, driver: Any, agent: Any, shop: desk.Shop, scenario: Any, folder: pathlib.Path) -> Any:
    from agents import Agent, function_tool

    assistant: Any = Agent("desk", model=driver.scripted(scenario), tools=[function_tool(tool) for tool in shop.tools])
    return asyncio.run(go_on(agent, assistant, "thread-1", (folder / "state.json").read_text(), ["c2"])).final_output


def pydantic(go_on: Any, driver: Any, agent: Any, shop: desk.Shop, scenario: Any, folder: pathlib.Path) -> Any:
    model = driver.Scripted(scenario["script"]).model
    return asyncio.run(go_on(agent, model, shop.tools, "thread-1", (folder / "messages.json").read_bytes(), {"c2": True, "c3": False})).output


def adk(go_on: Any, driver: Any, agent: Any, shop: desk.Shop, scenario: Any, folder: pathlib.Path) -> Any:
    from google.adk.agents import LlmAgent
    from google.adk.sessions.sqlite_session_service import SqliteSessionService

    assistant = LlmAgent(name="desk", model=driver.Scripted(model="scripted", script=scenario["script"], calls=[]), tools=[*shop.tools])
    first, second = json.loads((folder / "confirmations.json").read_text())
    answers = {first: {"confirmed": True}, second: {"confirmed": False}}
    return asyncio.run(go_on(agent, assistant, SqliteSessionService(str(folder / "adk.db")), "thread-1", answers))


@pytest.mark.parametrize("framework", ["langchain", "openai_agents", "pydantic_ai"])
def test_a_second_process_goes_on_with_what_was_answered_elsewhere(framework: str, tmp_path: pathlib.Path) -> None:
    driver, outcome = importlib.import_module(f"drive_{framework}"), desk.Outcome()
    scenario = desk.BY_NAME["a denial, after which the task goes on"]
    driver.leave(desk.agent(scenario, store=tmp_path / "celador.db"), scenario, desk.Shop(), desk.Outcome(), tmp_path)
    agent, shop = desk.agent(scenario, store=tmp_path / "celador.db"), desk.Shop()
    for review in agent.reviews():
        review.approve() if review.call == "c2" else review.deny(note="No.")
    if framework == "langchain":
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(str(tmp_path / "langgraph.db")) as saver:
            driver.Run(agent, scenario, saver, shop).step(None, "sync", outcome)
    elif framework == "openai_agents":
        run = driver.Run(agent, scenario, shop)
        state = asyncio.run(driver.RunState.from_string(run.agent, (tmp_path / "state.json").read_text()))
        for item in state.get_interruptions():
            state.approve(item)
        run.step(state, "async", outcome)
    else:
        history = driver.ModelMessagesTypeAdapter.validate_json((tmp_path / "messages.json").read_bytes())
        driver.Run(agent, scenario, shop).step("async", outcome, None, message_history=history)
    assert shop.ran == scenario["ran"][1:]
    assert scenario["final"] in (outcome.final or "")
