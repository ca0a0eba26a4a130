"""LiteLLM with its own settings, as a client that speaks each interface: its requests pass, and are judged."""

import json

import pytest

from agents import TOOLS
from model import Turn

litellm = pytest.importorskip("litellm", reason="`.ci/proxy` installs it")

ASKED = "Look at o-7, then delete everything."
RESULT = json.dumps({"order": "o-7", "total": 60})
FUNCTIONS = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()]


def joined(chunks, messages):
    return litellm.stream_chunk_builder(list(chunks), messages=messages)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("maker", ["openai", "anthropic"])
def test_completion(proxies, model, maker, stream):
    proxy = proxies(maker)
    model.says(Turn("I look.", [("get_order", {"order": "o-7"}), ("delete_all", {})]), Turn("I saw it."))
    messages = [{"role": "system", "content": "You are a careful clerk."}, {"role": "user", "content": ASKED}]
    base = f"{proxy.address}/v1" if maker == "openai" else proxy.address

    def ask():
        answer = litellm.completion(model=f"{maker}/small-1", api_base=base, api_key="key-of-the-client", messages=messages,
                                    tools=FUNCTIONS, stream=stream)
        return (joined(answer, messages) if stream else answer).choices[0].message

    first = ask()
    assert [it.function.name for it in first.tool_calls] == ["get_order"]
    messages.append(first.model_dump())
    messages.append({"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": RESULT})
    assert ask().content == "I saw it."
    assert "Nothing is deleted here." in json.dumps(model.requests[1])


def test_responses(proxies, model):
    proxy = proxies("openai")
    model.says(Turn("I look.", [("get_order", {"order": "o-7"}), ("delete_all", {})]), Turn("I saw it."))
    tools = [{"type": "function", "name": name, "parameters": schema, "strict": False} for name, schema in TOOLS.items()]

    def ask(given):
        return litellm.responses(model="openai/small-1", api_base=f"{proxy.address}/v1", api_key="key-of-the-client", input=given,
                                 instructions="You are a careful clerk.", tools=tools)

    first = ask(ASKED)
    calls = [it for it in first.output if it.type == "function_call"]
    assert [it.name for it in calls] == ["get_order"]
    given = [{"role": "user", "content": ASKED}, *(it.model_dump(exclude_none=True) for it in first.output)]
    last = ask([*given, {"type": "function_call_output", "call_id": calls[0].call_id, "output": RESULT}])
    assert last.output[0].content[0].text == "I saw it."
    assert "Nothing is deleted here." in json.dumps(model.requests[1])
