"""What the proxy does not let through, and what it passes on as it is."""

import json
import urllib.error
import urllib.request

import anthropic
import openai
import pytest

from agents import ChatAgent
from conftest import Proxy, get
from model import Turn


@pytest.fixture
def chat(proxies):
    proxy = proxies("openai")
    return openai.OpenAI(base_url=f"{proxy.address}/v1", api_key="k", max_retries=0), proxy


def test_lists_of_models_and_counts_pass(chat, proxies, model):
    client, _ = chat
    assert [it.id for it in client.models.list()] == ["small-1"]
    assert client.embeddings.create(model="e", input="x", encoding_format="float").data[0].embedding == [0.5]
    client = anthropic.Anthropic(base_url=proxies("anthropic").address, api_key="k", max_retries=0)
    counted = client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "Hello."}])
    assert counted.input_tokens == 7


def test_addresses_where_calls_could_pass_are_refused(chat):
    client, _ = chat
    with pytest.raises(openai.PermissionDeniedError, match="--allow-other"):
        client.responses.retrieve("resp_1")
    with pytest.raises(openai.PermissionDeniedError):
        client.completions.create(model="m", prompt="Hello.")


def test_what_the_maker_runs_itself_is_refused(chat, proxies, model):
    client, _ = chat
    model.says(Turn("Hello."))
    with pytest.raises(openai.PermissionDeniedError, match="web_search"):
        client.responses.create(model="m", input="Hello.", tools=[{"type": "web_search"}])
    with pytest.raises(openai.PermissionDeniedError, match="choice"):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello."}], n=2)
    client = anthropic.Anthropic(base_url=proxies("anthropic").address, api_key="k", max_retries=0)
    with pytest.raises(anthropic.PermissionDeniedError, match="web_search_20250305"):
        tools = [{"type": "web_search_20250305", "name": "web_search"}]
        client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "Hello."}], tools=tools)
    assert model.requests == []


def test_results_of_calls_that_nobody_made_are_refused(chat, model):
    client, _ = chat
    with pytest.raises(openai.BadRequestError, match="neither"):
        item = {"type": "function_call_output", "call_id": "made-up", "output": "x"}
        client.responses.create(model="m", input=[{"role": "user", "content": "Hello."}, item])
    with pytest.raises(openai.BadRequestError, match="x-celador-task"):
        client.responses.create(model="m", input="Hello.", previous_response_id="resp_of_another")


def test_arguments_that_are_no_json_are_told_to_the_model(chat, model):
    _, proxy = chat
    agent = ChatAgent(proxy.address, False)
    model.says(Turn(calls=[("get_order", '{"order": ')]), Turn("Sorry."))
    assert agent.say("Look at o-7.").text == "Sorry."
    assert "not an object of JSON" in json.dumps(model.requests[1])


def test_pages_of_browsers_are_kept_out(chat):
    _, proxy = chat
    for headers in [{"Origin": "https://evil.example"}, {"Host": "evil.example"}]:
        request = urllib.request.Request(f"{proxy.address}/v1/models", headers=headers)
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request)
        assert error.value.code == 403


def test_a_body_that_is_none_is_refused_in_the_makers_form(chat, proxies):
    for maker, path in [("openai", "/v1/chat/completions"), ("openai", "/v1/responses"), ("anthropic", "/v1/messages")]:
        for body in [b"", b"[]", b"{}", b'{"model": "m", "messages": 7, "input": {}}', b"\xff"]:
            request = urllib.request.Request(proxies(maker).address + path, body)
            try:
                with urllib.request.urlopen(request) as reply:
                    assert path == "/v1/responses", reply.read()
            except urllib.error.HTTPError as error:
                assert error.code == 400 and "error" in json.load(error)


def test_an_answer_that_breaks_off_is_an_error(chat, model):
    """A model whose stream ends in the middle: nothing of a call that has not come whole is given."""
    import http.server
    import threading

    class Broken(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            call = {"index": 0, "id": "c", "type": "function", "function": {"name": "get_order", "arguments": '{"order'}}
            for delta in ({"role": "assistant", "content": "One"}, {"tool_calls": [call]}):
                chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
                         "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Broken)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy = Proxy("openai", f"http://127.0.0.1:{server.server_address[1]}")
    try:
        client = openai.OpenAI(base_url=proxy.address, api_key="k", max_retries=0)
        with pytest.raises(openai.APIError, match="broke off"):
            stream = client.chat.completions.create(model="m", stream=True, messages=[{"role": "user", "content": "Hi."}])
            for chunk in stream:
                assert not chunk.choices[0].delta.tool_calls
    finally:
        proxy.stop()
        server.shutdown()


def test_a_model_that_is_not_there_is_an_error():
    proxy = Proxy("openai", "http://127.0.0.1:9/v1")
    try:
        client = openai.OpenAI(base_url=proxy.address, api_key="k", max_retries=0)
        with pytest.raises(openai.InternalServerError, match="gave no answer"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi."}])
    finally:
        proxy.stop()


def test_decisions_may_come_from_a_server(tmp_path, model):
    """The same over `celador serve`, and a server that is gone stops everything."""
    import subprocess

    from conftest import CELADOR, HERE

    server = subprocess.Popen(
        [CELADOR, "serve", str(HERE / "rules.yaml"), "--store", "memory", "--listen", "127.0.0.1:0", "--log", "error"],
        stdout=subprocess.PIPE, text=True,
    )
    address = f"http://{server.stdout.readline().split()[-1]}"
    proxy = Proxy("openai", model.address, "shop/desk", "--server", address)
    try:
        agent = ChatAgent(proxy.address, True)
        model.says(Turn(calls=[("get_order", {"order": "o-7"}), ("delete_all", {})]), Turn("Done."), Turn("Never."))
        answer = agent.say("Look, then delete.")
        assert answer.names() == ["get_order"]
        assert agent.report([(answer.calls[0][0], "{}")]).text == "Done."
        assert ("tool", "Nothing is deleted here.") in agent.seen(model.requests[1])
        assert get(f"{address}/v1/tasks")["tasks"][0]["agent"] == "desk"
        server.terminate()
        server.wait(10)
        with pytest.raises(openai.InternalServerError, match="Celador gave no decision"):
            agent.say("Hello?")
        assert len(model.requests) == 2, "the model was not asked"
    finally:
        server.kill()
        proxy.stop()
