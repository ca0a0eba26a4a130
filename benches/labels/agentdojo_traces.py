#!/usr/bin/env python3
"""Plays the ground truth of AgentDojo without a model and writes what happened, for the bench `labels`.

usage: agentdojo_traces.py OUT

Needs `pip install --no-deps agentdojo==0.1.35` and pydantic, email-validator, pyyaml, docstring-parser, deepdiff,
typing-extensions, rich, tenacity, click and python-dotenv. The packages of model vendors, which AgentDojo imports and
nothing here uses, are replaced by empty ones.

Of each suite comes `SUITE.yaml`, the functions as a document of tools, and `SUITE.jsonl`, a line for each task:
what the user asks for, and the calls with their arguments and results. Under attack an agent that obeys is played:
the user's calls up to the first result that carries the injected text, then those of the attack, then the rest.
"""
import importlib.abc
import importlib.machinery
import json
import pathlib
import re
import sys
from unittest.mock import MagicMock

VENDORS = {"anthropic", "cohere", "google", "openai", "langchain", "vertexai", "transformers", "torch", "requests"}


class EmptyVendor(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in VENDORS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__name__ = [], spec, spec.name
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(EmptyVendor())

import yaml  # noqa: E402

yaml.safe_load = lambda text: yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))

import agentdojo.attacks  # noqa: E402,F401
from agentdojo.attacks.attack_registry import ATTACKS  # noqa: E402
from agentdojo.functions_runtime import FunctionsRuntime  # noqa: E402
from agentdojo.task_suite.load_suites import get_suites  # noqa: E402
from pydantic import BaseModel  # noqa: E402

READS = re.compile(r"(get|search|list|read|check)_")


class Model:
    name = "gpt-4o-2024-05-13"


def plain(value):
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def letters(value):
    """All that is written in a value, without what YAML folds and escapes."""
    return re.sub(r"\W+", "", json.dumps(value, ensure_ascii=False).replace("\\n", ""))


def played(suite, task, attack, injections):
    environment = task.init_environment(suite.load_and_inject_default_environment(injections))
    runtime = FunctionsRuntime(suite.tools)
    marks = [letters(text) for text in injections.values()]
    calls, obeyed = [], attack is None

    def call(wanted, by):
        value, error = runtime.run_function(environment, wanted.function, wanted.args)
        output = plain(value)
        calls.append({
            "function": wanted.function,
            "arguments": plain(dict(wanted.args)),
            "output": output if error is None else {"error": error},
            "failed": error is not None,
            "by": by,
        })
        return any(mark in letters(output) for mark in marks)

    for wanted in task.ground_truth(environment):
        carries = call(wanted, "user")
        if carries and not obeyed:
            obeyed = True
            for bad in attack.ground_truth(environment):
                call(bad, "attack")
    return calls if obeyed else None


def tools(name, suite):
    listed = []
    for function in suite.tools:
        schema = function.parameters.model_json_schema()
        tool = {"name": function.name, "description": function.description, "inputSchema": schema}
        tool["annotations"] = {"readOnlyHint": READS.match(function.name) is not None}
        listed.append(tool)
    document = {"kind": "celador/v1/tools", "namespace": "dojo", "name": name, "tools": listed}
    return json.dumps(document, indent=1)


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    for name, suite in sorted(get_suites("v1.2.2").items()):
        (out / f"{name}.yaml").write_text(tools(name, suite))
        attacker = ATTACKS["important_instructions"](suite, Model())
        with open(out / f"{name}.jsonl", "w") as lines:
            for task in suite.user_tasks.values():
                pairs = [(None, {})]
                for attack in suite.injection_tasks.values():
                    try:
                        pairs.append((attack, attacker.attack(task, attack)))
                    except ValueError:
                        continue  # nothing that the task reads can carry it
                for attack, injections in pairs:
                    calls = played(suite, task, attack, injections)
                    if calls is None:
                        continue  # the task never reads what carries it
                    line = {
                        "task": task.ID,
                        "attack": attack and attack.ID,
                        "prompt": task.PROMPT,
                        "calls": calls,
                    }
                    lines.write(json.dumps(line) + "\n")
        print(name, flush=True)


main(pathlib.Path(sys.argv[1]))
