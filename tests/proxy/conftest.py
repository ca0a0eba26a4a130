"""A proxy of each maker in front of a model that the test writes, for each way in which clients speak with it."""

import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from agents import KINDS
from model import Model

HERE = Path(__file__).parent
CELADOR = os.environ.get("CELADOR", str(HERE.parent.parent / "target/debug/celador"))


class Proxy:
    """The command, and the address of its page of reviews."""

    def __init__(self, maker, upstream, agent="shop/desk", *arguments, policies=HERE / "rules.yaml"):
        command = [CELADOR, "proxy", maker, "--upstream", upstream, "--agent", agent, "--listen", "127.0.0.1:0"]
        if "--server" not in arguments:
            command += ["--policies", str(policies), "--reviews", "127.0.0.1:0"]
        self.process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]
        self.reviews = None
        if "--server" not in arguments:
            self.reviews = self.process.stdout.readline().split()[-1].removesuffix("/reviews")

    def answer(self, task, answer, patience=10):
        """Answers the one review of a task that is open."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            found = [it for it in get(f"{self.reviews}/v1/reviews")["reviews"] if it["task"] == task]
            if found:
                return get(f"{self.reviews}/v1/reviews/{found[0]['id']}", {"answer": answer})
            time.sleep(0.02)
        raise AssertionError("nobody is asked")

    def context(self, task):
        return get(f"{self.reviews}/v1/tasks/{task}/context")["context"]

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def get(address, body=None):
    headers = {"content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(address, data, headers)) as reply:
        return json.load(reply)


@pytest.fixture(scope="session")
def model():
    return Model()


@pytest.fixture(scope="session")
def proxies(model):
    """Proxies by maker, agent and arguments, begun once."""
    begun = {}

    def proxy(maker, agent="shop/desk", *arguments):
        key = (maker, agent, arguments)
        if key not in begun:
            begun[key] = Proxy(maker, model.address, agent, "--review-wait", "1", *arguments)
        return begun[key]

    yield proxy
    for it in begun.values():
        it.stop()


@pytest.fixture(params=[(kind, stream) for kind in KINDS for stream in (False, True)],
                ids=lambda it: f"{it[0].name}-{'stream' if it[1] else 'whole'}")
def way(request, proxies):
    """A way in which a client speaks: gives a new conversation, and the proxy that it is over."""
    kind, stream = request.param

    def begin(agent="shop/desk", *arguments, **more):
        maker = "openai" if kind.name in ("chat", "responses", "kept") else "anthropic"
        proxy = proxies(maker, agent, *arguments)
        return kind(proxy.address, stream, **more), proxy

    begin.kind, begin.stream = kind, stream
    return begin
