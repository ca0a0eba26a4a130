"""Every scenario through every adapter, in every way in which its framework runs."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import desk

FRAMEWORKS = ("langchain", "openai_agents", "pydantic_ai", "google_adk", "agent_hooks")
DRIVERS = {name: importlib.import_module(f"drive_{name}") for name in FRAMEWORKS}
RUNS = [
    pytest.param(name, mode, scenario, id=f"{name}-{mode}-{scenario['name'].replace(' ', '_')}")
    for name in FRAMEWORKS
    for mode in DRIVERS[name].MODES
    for scenario in desk.SCENARIOS
]


@pytest.mark.parametrize(("framework", "mode", "scenario"), RUNS)
def test_scenario(framework: str, mode: str, scenario: dict[str, Any]) -> None:
    agent, shop = desk.agent(scenario), desk.Shop()
    outcome = DRIVERS[framework].drive(agent, scenario, mode, shop)
    desk.compare(scenario, outcome, shop, agent.task("thread-1", "u-1"), lists_held=DRIVERS[framework].LISTS_HELD)
    if "stream" in mode and outcome.turns:
        assert desk.shown(outcome) or outcome.final not in [turn.get("text") for turn in scenario["script"]]
