"""The lines about frameworks in the README of the package: each call of an adapter in them is one that the adapter takes."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from typing import Any

import celador
import pytest

import desk

README = (desk.HERE.parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"^```py\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def calls() -> list[ast.Call]:
    trees = [ast.parse(block, mode="exec", type_comments=False) for block in (text.replace("await ", "") for text in BLOCKS)]
    found = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in found if ast.unparse(call.func).startswith("celador.")]


@pytest.mark.parametrize("call", calls(), ids=ast.unparse)
def test_a_call_is_one_that_the_adapter_takes(call: ast.Call) -> None:
    module, _, name = ast.unparse(call.func).rpartition(".")
    function: Any = getattr(importlib.import_module(module), name)
    if function is not celador.agent_for:
        inspect.signature(function).bind(*call.args, **{str(keyword.arg): keyword.value for keyword in call.keywords})


def test_there_is_a_block_for_each() -> None:
    assert {ast.unparse(call.func).split(".")[1] for call in calls()} == {*desk.ALL, "mcp", "agent_for"}
