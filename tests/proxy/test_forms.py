"""What is written from what was judged: forms of messages that clients and APIs of models could use to get past a rule.

The rules refuse a refund above 50 and card numbers, and redact mail addresses in results.
"""

import gzip
import http.client
import itertools
import json
import resource
import socket
import urllib.error
import urllib.request
import zlib

import pytest

from conftest import HERE, Proxy
from raw import Raw

CARD = "4111 1111 1111 1111"
KEY = "kim@example.com"
RULES = HERE / "forms.yaml"


@pytest.fixture(scope="module")
def raw():
    return Raw()


@pytest.fixture(scope="module")
def proxy(raw):
    begun = {}

    def begin(maker="openai", *arguments, policies=RULES):
        key = (maker, arguments, policies)
        if key not in begun:
            upstream = f"{raw.address}/v1" if maker == "openai" else raw.address
            begun[key] = Proxy(maker, upstream, "shop/desk", "--review-wait", "1", *arguments, policies=HERE / policies)
        return begun[key]

    yield begin
    for it in begun.values():
        it.stop()


def ask(proxy, path, body, headers=(), method="POST"):
    """Status, headers and body, as text."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(proxy.address + path, data if method == "POST" else None, dict(headers), method=method)
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def chat(**members):
    return {"model": "m", "messages": [{"role": "user", "content": "Hello."}], **members}


def responses(**members):
    return {"model": "m", "input": "Hello.", **members}


def messages(**members):
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello."}], **members}


IDS = itertools.count()
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
FORMS = {"chat": chat, "responses": responses, "messages": messages}
MAKERS = {"chat": "openai", "responses": "openai", "messages": "anthropic"}
FUNCTION = {"type": "object", "properties": {"amount": {"type": "number"}}}
TOOLS = {
    "chat": [{"type": "function", "function": {"name": "refund", "parameters": FUNCTION}}],
    "responses": [{"type": "function", "name": "refund", "parameters": FUNCTION}],
    "messages": [{"name": "refund", "input_schema": FUNCTION}],
}


def said(api, text="Done.", **more):
    """An answer of an interface, as a body."""
    return {
        "chat": {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **more}, "finish_reason": "stop"}]},
        "responses": {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [
            {"type": "message", "id": "m", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": text, "annotations": []}]}]},
        "messages": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}],
                     "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}},
    }[api]


def with_result(api, content):
    """A conversation with a call of `look` and its result. The call is another one each time, as its id leads to its task."""
    id = f"call-{next(IDS)}"
    return {
        "chat": {"messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": id, "content": content}]},
        "responses": {"input": [
            {"role": "user", "content": "Look."},
            {"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": id, "output": content}]},
        "messages": {"messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}]},
    }[api]


def tools_with_look(api):
    look = json.loads(json.dumps(TOOLS[api]).replace("refund", "look"))
    return TOOLS[api] + look


@pytest.mark.parametrize("api", list(PATHS))
@pytest.mark.parametrize("text", [
    '{"k": "%s", "k": "x"}', '{"a": {"b": "%s", "b": 1}}', '[{"k":"%s","k":"x"}]', '{"k":"%s","n":18446744073709551616}',
    '{"k":"%s","half":"\\ud83d"}', "%s", '{"%s": 1}',
])
def test_a_result_is_redacted_whatever_a_reader_takes_it_for(proxy, raw, api, text):
    raw.says(said(api))
    status, _, body = ask(proxy(MAKERS[api]), PATHS[api], {**FORMS[api](), **with_result(api, text % KEY), "tools": tools_with_look(api)})
    assert status == 200, body
    assert KEY not in raw.requests[0] and "[email]" in raw.requests[0]


@pytest.mark.parametrize("api", list(PATHS))
def test_blanks_of_a_result_stay(proxy, raw, api):
    raw.says(said(api))
    text = '{\n  "order": "o-7",\n  "total": 60.0\n}'
    assert ask(proxy(MAKERS[api]), PATHS[api], {**FORMS[api](), **with_result(api, text), "tools": tools_with_look(api)})[0] == 200
    assert json.dumps(text) in raw.requests[0]


NESTED = [
    ("messages", [{"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": KEY}]}]),
    ("messages", [{"type": "search_result", "source": "s", "title": KEY, "content": []}]),
    ("messages", [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": KEY}}]),
    ("messages", [{"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": KEY}]}}]),
    ("messages", [{"type": "document", "context": KEY, "source": {"type": "text", "media_type": "text/plain", "data": "x"}}]),
    ("messages", [{"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": "a2ltQGV4YW1wbGUuY29t"}}]),
    ("responses", [{"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,a2ltQGV4YW1wbGUuY29t"}]),
    ("responses", [{"type": "input_file", "filename": KEY}]),
    ("responses", [{"type": "input_text", "text": KEY}]),
    ("chat", [{"type": "text", "text": KEY}]),
    ("chat", [{"type": "file", "file": {"filename": "a", "file_data": "a2ltQGV4YW1wbGUuY29t"}}]),
]


@pytest.mark.parametrize("api, content", NESTED)
def test_texts_of_results_are_read_wherever_they_stand(proxy, raw, api, content):
    raw.says(said(api))
    status, _, body = ask(proxy(MAKERS[api]), PATHS[api], {**FORMS[api](), **with_result(api, content), "tools": tools_with_look(api)})
    assert status == 200, body
    assert KEY not in raw.requests[0] and "a2ltQGV4YW1wbGUuY29t" not in raw.requests[0]


@pytest.mark.parametrize("api, content", [(api, content) for api, content in NESTED])
def test_texts_of_messages_are_read_wherever_they_stand(proxy, raw, api, content):
    raw.says(said(api))
    written = json.dumps(content).replace(KEY, CARD).replace("a2ltQGV4YW1wbGUuY29t", "NDExMSAxMTExIDExMTEgMTExMQ==")
    content = [{"type": "input_text" if api == "responses" else "text", "text": "Look:"}, *json.loads(written)]
    turn = {"role": "user", "content": content}
    status, headers, body = ask(proxy(MAKERS[api]), PATHS[api], FORMS[api](**{"input" if api == "responses" else "messages": [turn]}))
    assert status == 200 and headers["x-celador-verdict"] == "block", body
    assert raw.requests == []


@pytest.mark.parametrize("role", ["system", "developer", "assistant", "user"])
def test_what_a_client_adds_to_a_conversation_is_judged(proxy, raw, role):
    for api in ("chat", "responses"):
        raw.says(said(api))
        turns = [{"role": "system", "content": f"Never say {CARD}."}, {"role": "user", "content": "Hello."}, {"role": role, "content": CARD}]
        ask(proxy(), PATHS[api], FORMS[api](**{"input" if api == "responses" else "messages": turns}))
        assert json.dumps(raw.requests).count(CARD) == (1 if raw.requests else 0), "but for the instructions at the beginning"


def test_a_call_that_comes_back_under_another_name_says_nothing(proxy, raw):
    call = {"id": "n-1", "type": "function", "function": {"name": "refund", "arguments": '{"amount": 7}'}}
    answer = said("chat", None, tool_calls=[call])
    raw.says(answer, said("chat"))
    first = ask(proxy(), PATHS["chat"], chat(messages=[{"role": "user", "content": "A refund of 7."}], tools=TOOLS["chat"]))
    assert "n-1" in first[2], first
    call["function"]["name"] = "look"
    turns = [{"role": "user", "content": "A refund of 7."}, {"role": "assistant", "content": None, "tool_calls": [call]},
             {"role": "tool", "tool_call_id": "n-1", "content": "done"}]
    assert ask(proxy(), PATHS["chat"], chat(messages=turns, tools=TOOLS["chat"]))[0] == 200
    assert raw.asked()["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("beside", [
    {"refusal": CARD}, {"annotations": [{"type": "url_citation", "url_citation": {"title": CARD, "url": "u", "start_index": 0, "end_index": 1}}]},
])
def test_what_a_client_puts_beside_an_answer_is_judged(proxy, raw, beside):
    """An answer of the proxy comes back as it was, or with less: with more it is what the client says."""
    raw.says(said("chat", "Hello."), said("chat"), said("chat"))
    turns = [{"role": "user", "content": "Hello."}]
    assert ask(proxy(), PATHS["chat"], chat(messages=turns))[0] == 200
    for content in ("Hello.", ""):
        more = [*turns, {"role": "assistant", "content": content, **beside}, {"role": "user", "content": "And now?"}]
        ask(proxy(), PATHS["chat"], chat(messages=more))
        assert CARD not in json.dumps(raw.requests), raw.requests


@pytest.mark.parametrize("api, members, word", [
    ("chat", {"n": 2}, "choices"), ("chat", {"n": 2.0}, "`n`"), ("chat", {"n": "2"}, "`n`"), ("chat", {"n": True}, "`n`"),
    ("chat", {"stream": "yes"}, "stream"), ("chat", {"unheard_of": 1}, "unheard_of"), ("chat", {"functions": []}, "functions"),
    ("chat", {"messages": [{"role": "user", "content": "x", "parts": []}]}, "parts"),
    ("chat", {"messages": [{"role": "user", "content": ["x"]}]}, "content"),
    ("chat", {"messages": [{"role": "tool_result", "content": "x"}]}, "tool_result"),
    ("chat", {"tools": {"type": "function"}}, "tools"),
    ("responses", {"background": 1}, "background"), ("responses", {"background": True}, "background"),
    ("responses", {"input": [{"type": "Message", "role": "user", "content": "x"}]}, "Message"),
    ("responses", {"input": [{"type": "tool_search_output", "call_id": "a", "tools": [{"type": "mcp", "server_label": "x"}]}]}, "mcp"),
    ("responses", {"input": [{"type": "additional_tools", "role": "developer", "tools": [{"type": "mcp", "server_label": "x"}]}]}, "mcp"),
    ("responses", {"tools": [{"type": "web_search"}]}, "web_search"),
    ("messages", {"mcp_servers": {"url": "x"}}, "mcp_servers"), ("messages", {"mcp_servers": []}, "mcp_servers"),
    ("messages", {"tools": [{"type": "bash_29990101", "name": "bash"}]}, "bash_29990101"),
    ("messages", {"messages": [{"role": "user", "content": [{"type": "mcp_tool_result", "tool_use_id": "a"}]}]}, "mcp_tool_result"),
    ("messages", {"messages": [{"role": "system", "content": [
        {"type": "tool_addition", "tool": {"type": "mcp_toolset_reference", "server_name": "x"}}]}]}, "mcp_toolset_reference"),
])
def test_a_request_with_what_is_unknown_is_refused_and_told_why(proxy, raw, api, members, word):
    raw.says()
    status, _, body = ask(proxy(MAKERS[api]), PATHS[api], FORMS[api](**members))
    assert status in (400, 403) and word in json.loads(body)["error"]["message"], body
    assert raw.requests == []


def test_observing_lets_what_is_unknown_go_on(proxy, raw):
    raw.says(said("chat"))
    status, _, _ = ask(proxy("openai", "--observe"), PATHS["chat"], chat(unheard_of=1))
    assert status == 200 and raw.asked()["unheard_of"] == 1


@pytest.mark.parametrize("maker, api, event", [
    ("openai", "responses", {"type": "response.unheard_of", "note": "new"}),
    ("anthropic", "messages", {"type": "unheard_of", "note": "new"}),
    ("openai", "chat", {"id": "c", "choices": [], "note": "new"}),
    ("openai", "chat", {"id": "c", "choices": [{"index": 1, "delta": {"content": "new"}, "finish_reason": None}]}),
])
def test_observing_lets_unknown_events_go_on(proxy, raw, maker, api, event):
    begun = {"chat": chunk({"content": "Hi."}), "responses": {"type": "response.created", "response": {**said(api), "output": []}},
             "messages": {"type": "message_start", "message": {**said(api), "content": [], "stop_reason": None}}}[api]
    ended = {"chat": [chunk({}, "stop")], "responses": [{"type": "response.completed", "response": said(api)}],
             "messages": [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
                          {"type": "message_stop"}]}[api]
    for observes in (True, False):
        raw.says(events(begun, event, *ended) + "data: [DONE]\n\n" * (api == "chat"))
        status, _, body = ask(proxy(maker, *["--observe"] * observes), PATHS[api], FORMS[api](stream=True))
        assert status == 200 and ('"new"' in body) == observes, body


def test_a_search_for_tools_is_a_call_and_what_it_finds_is_held_to_rules(proxy, raw):
    search = {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": {"type": "object"}}
    call = {"type": "tool_search_call", "id": "t", "call_id": "a", "execution": "client", "arguments": {"query": "pay"}, "status": "completed"}
    raw.says({**said("responses"), "output": [call]}, said("responses"), said("responses", "No search."))
    body = responses(input=[{"role": "user", "content": "Pay."}], tools=[*tools_with_look("responses"), search])
    status, _, answer = ask(proxy(policies="search.yaml"), PATHS["responses"], body)
    assert status == 200 and json.loads(answer)["output"] == [call], answer
    stranger = {"type": "function", "name": "unheard_of", "parameters": {}}
    found = {"type": "tool_search_output", "call_id": "a", "execution": "client", "status": "completed", "tools": [*TOOLS["responses"], stranger]}
    body["input"] += [call, found]
    assert ask(proxy(policies="search.yaml"), PATHS["responses"], body)[0] == 200
    assert [it["name"] for it in raw.asked()["input"][-1]["tools"]] == ["refund"]
    # a desk without this function neither offers the search nor lets it through
    raw.says({**said("responses"), "output": [call]}, said("responses", "No search."))
    status, _, answer = ask(proxy(), PATHS["responses"], responses(tools=[*TOOLS["responses"], search]))
    assert status == 200 and "No search." in answer and "tool_search_call" not in answer, answer
    assert [it["type"] for it in raw.asked(0)["tools"]] == ["function"]


def test_a_body_that_readers_take_for_different_ones_is_refused(proxy, raw):
    raw.says()
    for body in (b'{"model":"m","messages":[],"messages":[{"role":"user","content":"x"}]}', b'{"model":"m","messages":[],"seed":18446744073709551616}'):
        assert ask(proxy(), PATHS["chat"], body)[0] == 400
    assert raw.requests == []


def test_half_a_letter_is_one_bad_letter(proxy, raw):
    raw.says(said("chat"))
    body = b'{"model":"m","messages":[{"role":"user","content":"Hello \\ud83d."}]}'
    assert ask(proxy(), PATHS["chat"], body)[0] == 200
    assert raw.asked()["messages"][0]["content"] == "Hello \ufffd."


def test_the_vendors_own_tools_are_taken_out_where_that_is_asked_for(proxy, raw):
    raw.says(said("responses"), said("messages"))
    body = responses(tools=[*TOOLS["responses"], {"type": "web_search"}, {"type": "mcp", "server_label": "x"}], tool_choice={"type": "web_search_preview"})
    body["tool_choice"] = {"type": "mcp", "server_label": "x"}
    assert ask(proxy("openai", "--drop-hosted"), PATHS["responses"], body)[0] == 200
    assert [it["type"] for it in raw.asked()["tools"]] == ["function"] and "tool_choice" not in raw.asked()
    body = messages(tools=[*TOOLS["messages"], {"type": "web_search_20250305", "name": "web_search"}], mcp_servers=[{"type": "url", "url": "x", "name": "y"}])
    assert ask(proxy("anthropic", "--drop-hosted"), PATHS["messages"], body)[0] == 200
    assert [it["name"] for it in raw.asked()["tools"]] == ["refund"] and "mcp_servers" not in raw.asked()


def test_tools_of_a_namespace_are_judged(proxy, raw):
    namespace = {"type": "namespace", "name": "shop", "description": "", "tools": TOOLS["responses"]}
    call = {"type": "function_call", "call_id": "a", "name": "refund", "namespace": "shop", "arguments": '{"amount": 80}'}
    raw.says({**said("responses"), "output": [call]}, said("responses", "I may not."))
    status, _, body = ask(proxy(), PATHS["responses"], responses(tools=[namespace]))
    assert status == 200 and "I may not." in body and '"refund"' not in json.dumps(json.loads(body)["output"])
    assert "At most 50." in raw.requests[1]


REFUND = {"id": "a", "type": "function", "function": {"name": "refund", "arguments": '{"amount": 80}'}}


@pytest.mark.parametrize("answer", [
    {**said("chat"), "choices": [*said("chat")["choices"], {"index": 1, "message": {"role": "assistant", "tool_calls": [REFUND]}}]},
    said("chat", function_call={"name": "refund", "arguments": '{"amount": 80}'}),
    said("chat", refund={"amount": 80}),
])
def test_what_is_unknown_in_an_answer_does_not_go_on(proxy, raw, answer):
    raw.says(answer)
    status, _, body = ask(proxy(), PATHS["chat"], chat(tools=TOOLS["chat"]))
    assert status == 200 and "refund" not in body


def events(*data, end="\n\n"):
    name = {True: f"event: {{}}{end[:len(end) // 2]}", False: ""}
    return "".join(name["type" in it].format(it.get("type")) + f"data: {json.dumps(it)}{end}" for it in data)


def chunk(delta, finish=None, index=0):
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


@pytest.mark.parametrize("end", ["\n\n", "\r\r", "\r\n\r\n"])
@pytest.mark.parametrize("piece", [
    chunk({"function_call": {"name": "refund", "arguments": '{"amount": 80}'}}),
    chunk({"tool_calls": [{"index": 0, **REFUND}]}, index=1),
    {"id": "c", "refund": {"amount": 80}, "choices": []},
    {**chunk({"content": "x"}), "refund": 1},
])
def test_what_is_unknown_in_a_stream_does_not_go_on(proxy, raw, piece, end):
    raw.says(events(chunk({"role": "assistant", "content": "Hi."}), piece, chunk({}, "stop"), end=end) + "data: [DONE]" + end)
    status, _, body = ask(proxy(), PATHS["chat"], chat(tools=TOOLS["chat"], stream=True))
    assert status == 200 and "refund" not in body and "Hi." in body and "[DONE]" in body


def test_what_stands_behind_the_end_of_a_stream_does_not_go_on(proxy, raw):
    call = chunk({"tool_calls": [{"index": 0, **REFUND}]})
    raw.says(events(chunk({"content": "Hi."}), chunk({}, "stop")) + "data: [DONE]\n\n" + events(call, chunk({}, "tool_calls")))
    assert "refund" not in ask(proxy(), PATHS["chat"], chat(tools=TOOLS["chat"], stream=True))[2]


@pytest.mark.parametrize("data", [
    [{"type": "refund", "amount": 80}],
    [{"type": "content_block_start", "index": 0, "content_block": {"type": "mcp_tool_use", "id": "a", "name": "refund", "input": {}}}],
    [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
     {"type": "content_block_delta", "index": 0, "delta": {"type": "refund_delta", "text": "refund"}}],
])
def test_unknown_events_and_blocks_of_messages_do_not_go_on(proxy, raw, data):
    start = {"type": "message_start", "message": {**said("messages"), "content": [], "stop_reason": None}}
    end = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
    raw.says(events(start, *data, *end))
    assert "refund" not in ask(proxy("anthropic"), PATHS["messages"], messages(tools=TOOLS["messages"], stream=True))[2]


def test_a_call_in_the_beginning_of_a_message_is_judged(proxy, raw):
    use = {"type": "tool_use", "id": "a", "name": "refund", "input": {"amount": 80}}
    start = {"type": "message_start", "message": {**said("messages"), "content": [use], "stop_reason": None}}
    end = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
    raw.says(events(start, *end), events({"type": "message_start", "message": said("messages", "I may not.")}, *end))
    status, _, body = ask(proxy("anthropic"), PATHS["messages"], messages(tools=TOOLS["messages"], stream=True))
    assert status == 200 and "refund" not in body and "I may not." in body, body


@pytest.mark.parametrize("stream, answer, word", [
    (True, said("chat"), "events were asked for"), (False, events(chunk({"content": "x"}, "stop")), "one body was asked for"),
    (False, {"choices": []}, "message"), (False, [], "choices"), (False, {"choices": [{"message": {"content": {"a": 1}}}]}, "content"),
    (True, "data: {\n\n", "not JSON"), (True, "data: 7\n\n", "object"), (False, (307, {"location": "http://127.0.0.1:9/"}, {}), "another address"),
    (False, '{"id": "c", "id": "d", "choices": []}', "duplicate"),
])
def test_an_answer_that_is_none_is_an_error_that_says_why(proxy, raw, stream, answer, word):
    raw.says(answer)
    status, headers, body = ask(proxy(), PATHS["chat"], chat(stream=stream))
    assert status == 502 and word in json.loads(body)["error"]["message"], body
    assert "location" not in headers


def test_an_error_of_the_api_keeps_its_words_and_loses_the_rest(proxy, raw):
    raw.says((429, {"retry-after": "7", "x-refund": "1"}, {"error": {"message": "busy", "type": "rate_limit", "code": "slow", "refund": 1}, "tool_calls": [REFUND]}))
    status, headers, body = ask(proxy(), PATHS["chat"], chat())
    assert (status, headers["retry-after"], headers["x-refund"]) == (429, "7", None)
    assert json.loads(body) == {"error": {"message": "busy", "type": "rate_limit", "param": None, "code": "slow"}}


@pytest.mark.parametrize("id", ["", None, 7])
def test_calls_without_an_id_get_one(proxy, raw, id):
    call = {**REFUND, "id": id, "function": {"name": "refund", "arguments": {"amount": 20}}}
    raw.says(said("chat", None, tool_calls=[call, {**call, "index": 1}]))
    status, _, body = ask(proxy(), PATHS["chat"], chat(tools=TOOLS["chat"]))
    if id == 7:
        assert status == 502, "what is no text is no id"
        return
    calls = json.loads(body)["choices"][0]["message"]["tool_calls"]
    assert status == 200 and len({it["id"] for it in calls}) == 2 and all(it["id"] for it in calls)
    assert [json.loads(it["function"]["arguments"]) for it in calls] == [{"amount": 20}] * 2


@pytest.mark.parametrize("api", list(PATHS))
def test_ids_that_come_again_in_later_turns_are_other_calls(proxy, raw, api):
    def call(amount):
        arguments = json.dumps({"amount": amount})
        return {
            "chat": said("chat", None, tool_calls=[{"id": "call_0", "type": "function", "function": {"name": "refund", "arguments": arguments}}]),
            "responses": {**said("responses"), "output": [{"type": "function_call", "call_id": "call_0", "name": "refund", "arguments": arguments}]},
            "messages": {**said("messages"), "content": [{"type": "tool_use", "id": "call_0", "name": "refund", "input": {"amount": amount}}], "stop_reason": "tool_use"},
        }[api]

    raw.says(call(10), call(20), call(80), said(api, "That was too much."))
    body = FORMS[api](tools=TOOLS[api])
    turns = [{"role": "user", "content": "Pay."}]
    for amount in (10, 20):
        status, _, answer = ask(proxy(MAKERS[api]), PATHS[api], {**body, "input" if api == "responses" else "messages": turns})
        assert status == 200 and "call_0" in answer and str(amount) in answer, answer
        answer = json.loads(answer)
        if api == "chat":
            turns += [answer["choices"][0]["message"], {"role": "tool", "tool_call_id": "call_0", "content": f"paid {amount}"}]
        elif api == "responses":
            turns += [*answer["output"], {"type": "function_call_output", "call_id": "call_0", "output": f"paid {amount}"}]
        else:
            result = {"type": "tool_result", "tool_use_id": "call_0", "content": f"paid {amount}"}
            turns += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]
    status, _, answer = ask(proxy(MAKERS[api]), PATHS[api], {**body, "input" if api == "responses" else "messages": turns})
    assert status == 200 and "That was too much." in answer and "80" not in answer, answer
    assert "paid 10" in raw.requests[2] and "paid 20" in raw.requests[2] and "~" not in raw.requests[2]


def test_threads_of_messages_are_one_task(proxy, raw):
    use = {"type": "tool_use", "id": "a", "name": "refund", "input": {"amount": 10}}
    raw.says({**said("messages"), "id": "msg_1", "content": [use], "stop_reason": "tool_use"}, {**said("messages"), "id": "msg_2"}, said("messages"))
    body = messages(tools=TOOLS["messages"], thread={"type": "create"})
    _, first, answer = ask(proxy("anthropic"), PATHS["messages"], body)
    assert '"refund"' in answer
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": KEY}]}
    status, second, _ = ask(proxy("anthropic"), PATHS["messages"], {**body, "messages": [result], "thread": {"type": "continue", "previous_message_id": "msg_1"}})
    assert status == 200 and first["x-celador-task"] == second["x-celador-task"]
    assert raw.asked()["thread"] == {"type": "continue", "previous_message_id": "msg_1"} and "[email]" not in json.dumps(raw.asked()["tools"])
    # an answer that the proxy made is none that the vendor knows: what it does not know goes along
    card = {"role": "user", "content": CARD}
    _, _, answer = ask(proxy("anthropic"), PATHS["messages"], {**body, "messages": [card], "thread": {"type": "continue", "previous_message_id": "msg_2"}})
    made = json.loads(answer)["id"]
    more = {"role": "user", "content": "And now?"}
    assert ask(proxy("anthropic"), PATHS["messages"], {**body, "messages": [more], "thread": {"type": "continue", "previous_message_id": made}})[0] == 200
    assert raw.asked()["thread"] == {"type": "continue", "previous_message_id": "msg_2"}
    assert [it["role"] for it in raw.asked()["messages"]] == ["user", "assistant", "user"] and CARD not in raw.requests[-1]


@pytest.mark.parametrize("coding, code", [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)])
def test_compressed_requests_are_read(proxy, raw, coding, code):
    raw.says(said("chat"))
    body = code(json.dumps(chat()).encode())
    assert ask(proxy(), PATHS["chat"], body, {"content-encoding": coding}.items())[0] == 200
    assert raw.asked()["messages"][0]["content"] == "Hello." and "content-encoding" not in raw.headers[-1]
    raw.says()
    card = code(json.dumps(chat(messages=[{"role": "user", "content": CARD}])).encode())
    assert ask(proxy(), PATHS["chat"], card, {"content-encoding": coding}.items())[1]["x-celador-verdict"] == "block"
    assert ask(proxy(), PATHS["chat"], b"x", {"content-encoding": "compress"}.items())[0] == 415
    assert ask(proxy(), PATHS["chat"], b"x", {"content-encoding": coding}.items())[0] == 400


def test_a_body_that_grows_without_end_is_refused(proxy, raw):
    raw.says()
    assert ask(proxy(), PATHS["chat"], gzip.compress(b" " * (1 << 27)), {"content-encoding": "gzip"}.items())[0] == 413


@pytest.mark.parametrize("path", [
    "/v1/embeddings/../chat/completions", "/v1/embeddings/%2e%2e/chat/completions", "/v1/embeddings/..%2fchat/completions",
    "/v1/embeddings\\..\\chat\\completions", "/v1//chat/completions", "/v1/chat/completions/", "/v1/CHAT/completions", "/v1/embeddings/x",
    "/v1/embeddings?x=/../chat/completions", "/v1/v1/chat/completions", "http://127.0.0.1/v1/embeddings/../responses",
])
def test_a_path_is_the_one_of_the_table_or_none(proxy, raw, path):
    raw.says()
    host = proxy().address.removeprefix("http://")
    for maker in (proxy(), proxy("openai", "--allow-other")):
        connection = http.client.HTTPConnection(maker.address.removeprefix("http://"), timeout=60)
        body = json.dumps(chat(messages=[{"role": "user", "content": CARD}]))
        raw.says(said("chat"))
        connection.putrequest("POST", path, skip_host=False)
        connection.putheader("content-length", str(len(body)))
        connection.endheaders(body.encode())
        reply = connection.getresponse()
        reply.read()
        assert reply.status in (400, 403) or raw.paths == [path], f"{reply.status} {raw.paths} {host}"
        assert not any("chat" in it.split("?")[0] for it in raw.paths)
    assert ask(proxy(), "/v1/models/..%2fresponses", b"", method="GET")[0] == 403


def test_headers_that_mean_another_request_do_not_go_on(proxy, raw):
    raw.says(said("chat"))
    headers = {"x-http-method-override": "DELETE", "x-original-url": "/v1/files", "authorization": "Bearer k", "x-stainless-lang": "python"}
    assert ask(proxy(), PATHS["chat"], chat(), headers.items())[0] == 200
    assert raw.headers[-1]["authorization"] == "Bearer k" and raw.headers[-1]["x-stainless-lang"] == "python"
    assert not any("method" in name or "url" in name for name in raw.headers[-1])


def test_silent_connections_keep_nobody_out(proxy, raw):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    address = proxy().address.removeprefix("http://").split(":")
    raw.says(said("chat"))
    silent = []
    try:
        for at in range(1_100):
            connection = socket.create_connection((address[0], int(address[1])), timeout=60)
            if at % 3 == 1:
                connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x")
            elif at % 3 == 2:
                connection.sendall(b"PRI * HTTP/2.0\r\n")
            silent.append(connection)
        assert ask(proxy(), PATHS["chat"], chat())[0] == 200
    finally:
        for connection in silent:
            connection.close()
