"""One process of two: `restart.py FRAMEWORK "ask" FOLDER` leaves two reviews behind, `restart.py FRAMEWORK "go on" FOLDER` answers them."""

from __future__ import annotations

import importlib
import json
import pathlib
import sys

import desk


def main(framework: str, phase: str, folder: pathlib.Path) -> None:
    driver = importlib.import_module(f"drive_{framework}")
    scenario = desk.BY_NAME["a denial, after which the task goes on"]
    agent, shop, outcome = desk.agent(scenario, store=folder / "celador.db"), desk.Shop(), desk.Outcome()
    if phase == "ask":
        print(json.dumps({"asked": driver.leave(agent, scenario, shop, outcome, folder), "ran": shop.ran}))
        return
    driver.take_up(agent, scenario, shop, outcome, folder)
    task = agent.task("thread-1", "u-1")
    reviews = {review.call: review.state for review in task.reviews(state="all")}
    print(json.dumps({"ran": shop.ran, "final": (outcome.final or "").strip(), "reviews": reviews, "state": task.state}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
