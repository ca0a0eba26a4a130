"""The makers' clients for JavaScript; `.ci/proxy` installs them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import HERE
from model import Turn

FOLDER = Path(os.environ.get("PROXY_NODE", str(HERE.parent.parent / "target/tools/proxy-node")))


@pytest.mark.parametrize("kind", ["chat", "responses", "messages", "runner", "runner in events"])
def test_a_refused_call_beside_one_that_is_let_through(kind, proxies, model):
    assert (FOLDER / "node_modules").is_dir(), "`.ci/proxy` installs the clients"
    proxy = proxies("openai" if kind in ("chat", "responses") else "anthropic")
    model.says(Turn("I look.", [("get_order", {"order": "o-7"}), ("delete_all", {})]), Turn("I saw it."))
    command = ["node", str(HERE / "clients.mjs"), str(FOLDER), kind, proxy.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"calls": ["get_order"], "text": "I saw it."}
    assert "Nothing is deleted here." in json.dumps(model.requests[1])
    if kind.startswith("runner"):
        assert [it["thread"]["type"] for it in model.requests] == ["create", "continue"], "the API keeps the conversation"
