"""One process of several: `restart.py FRAMEWORK "ask" FOLDER` leaves two reviews behind, `restart.py FRAMEWORK "go on" FOLDER` answers them. With `race` it does so
once the file `go` is in the folder, together with others."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import sys
import time

import desk


def main(framework: str, phase: str, folder: pathlib.Path) -> None:
    driver = importlib.import_module(f"drive_{framework}")
    scenario = desk.BY_NAME["a denial, after which the task goes on"]
    agent, shop, outcome = desk.agent(scenario, store=folder / "celador.db"), desk.Shop(), desk.Outcome()
    if phase == "ask":
        print(json.dumps({"asked": driver.leave(agent, scenario, shop, outcome, folder), "ran": shop.ran}))
        return
    if phase == "race":
        if framework == "agent_hooks":
            # it asks for what is open by then: the other process may have answered one of them
            scenario = {**scenario, "answers": [{"c2": "approve", "c3": "deny"}]}
        shop.pause = 0.5
        (folder / f"ready-{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.001)
        try:
            driver.take_up(agent, scenario, shop, outcome, folder)
        except Exception as error:
            print(json.dumps({"ran": shop.ran, "error": f"{type(error).__name__}: {error}"}))
        else:
            print(json.dumps({"ran": shop.ran, "final": (outcome.final or "").strip()}))
        return
    driver.take_up(agent, scenario, shop, outcome, folder)
    task = agent.task("thread-1", "u-1")
    reviews = {review.call: review.state for review in task.reviews(state="all")}
    print(json.dumps({"ran": shop.ran, "final": (outcome.final or "").strip(), "reviews": reviews, "state": task.state}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
