"""A model that says what a test has written down, over HTTP: OpenAI's chat completions and responses, Anthropic's messages.

In: a list of turns. Out: each as the answer to one request, whole or in events, cut into small pieces as models do. What it was sent is
kept. It refuses what the real APIs refuse: a call without a result, a result without a call, two calls of one id, an empty text, a
name that is not offered.
"""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Turn:
    """What the model says: a text, calls as (name, arguments), and the tokens that it used."""

    text: str = ""
    calls: list = field(default_factory=list)
    usage: tuple = (10, 5)
    ids: list = field(default_factory=list)
    status: int = 200


class Refused(Exception):
    """What an API would refuse."""


class Model:
    """The server."""

    def __init__(self):
        self.turns, self.requests, self.headers, self.paths = [], [], [], []
        self.count = 0
        self.stored = {}
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer(200, {"object": "list", "data": [{"id": "small-1", "object": "model", "created": 1, "owned_by": "x"}]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.paths.append(self.path)
                model.headers.append(dict(self.headers))
                if self.path.endswith("/count_tokens"):
                    return self.answer(200, {"input_tokens": 7})
                if self.path.endswith("/embeddings"):
                    return self.answer(200, {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}], "model": "e", "usage": {"prompt_tokens": 1, "total_tokens": 1}})
                api = {"/v1/chat/completions": Chat, "/v1/responses": Responses, "/v1/messages": Messages}[self.path.split("?")[0]]
                model.requests.append(body)
                try:
                    api.check(model, body)
                except Refused as why:
                    return self.answer(400, {"type": "error", "error": {"type": "invalid_request_error", "message": f"{why}: {json.dumps(body)}"}})
                turn = model.turns.pop(0) if model.turns else Turn("I have nothing more to say.")
                if turn.status != 200:
                    return self.answer(turn.status, {"error": {"message": "busy", "type": "server_error", "code": None, "param": None}})
                model.count += 1
                calls = [
                    (turn.ids[at] if turn.ids else f"call_{model.count}_{at}", name, arguments)
                    for at, (name, arguments) in enumerate(turn.calls)
                ]
                whole, events = api.say(model, body, turn, calls)
                if not body.get("stream"):
                    return self.answer(200, whole)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("x-request-id", "req_1")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for event in events:
                    piece = event.encode()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def answer(self, status, body):
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("x-request-id", "req_1")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def says(self, *turns):
        self.turns = list(turns)
        self.requests.clear()
        self.headers.clear()
        self.paths.clear()


def pieces(text, size=5):
    return [text[at : at + size] for at in range(0, len(text), size)]


def written(arguments):
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


class Chat:
    @staticmethod
    def check(_, body):
        asked = []
        for message in body["messages"]:
            if message["role"] == "tool":
                if message["tool_call_id"] not in asked:
                    raise Refused("a result without a call")
                asked.remove(message["tool_call_id"])
                continue
            if asked:
                raise Refused(f"calls without results: {asked}")
            asked = [call["id"] for call in message.get("tool_calls") or []]
        if asked:
            raise Refused(f"calls without results: {asked}")

    @staticmethod
    def say(model, body, turn, calls):
        usage = {"prompt_tokens": turn.usage[0], "completion_tokens": turn.usage[1], "total_tokens": sum(turn.usage)}
        finish = "tool_calls" if calls else "stop"
        message = {"role": "assistant", "content": turn.text or None, "refusal": None}
        if calls:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": written(arguments)}}
                for id, name, arguments in calls
            ]
        whole = {
            "id": f"chatcmpl-{model.count}", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}], "usage": usage,
        }

        def chunk(delta, finish=None):
            choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
            return {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": choices}

        chunks = [chunk({"role": "assistant", "content": "" if turn.text else None})]
        chunks += [chunk({"content": piece}) for piece in pieces(turn.text)]
        for index, (id, name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": ""}
            chunks.append(chunk({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}))
            for piece in pieces(written(arguments)):
                chunks.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
        chunks.append(chunk({}, finish))
        if (body.get("stream_options") or {}).get("include_usage"):
            chunks.append({**chunk({}), "choices": [], "usage": usage})
        return whole, [f"data: {json.dumps(it)}\n\n" for it in chunks] + ["data: [DONE]\n\n"]


class Responses:
    @staticmethod
    def input(model, body):
        given = body.get("input") or []
        given = [{"role": "user", "content": given}] if isinstance(given, str) else given
        if body.get("previous_response_id"):
            if body["previous_response_id"] not in model.stored:
                raise Refused("no such response")
            return model.stored[body["previous_response_id"]] + given
        return given

    @staticmethod
    def check(model, body):
        items = Responses.input(model, body)
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        if len(set(calls)) < len(calls):
            raise Refused("two calls of one id")
        if sorted(calls) != sorted(results):
            raise Refused(f"calls {calls} and results {results}")

    @staticmethod
    def say(model, body, turn, calls):
        output = []
        if calls:
            output.append({"type": "reasoning", "id": f"rs_{model.count}", "summary": []})
        if turn.text:
            part = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
            output.append({"type": "message", "id": f"msg_{model.count}", "role": "assistant", "status": "completed", "content": [part]})
        for id, name, arguments in calls:
            output.append({
                "type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": written(arguments),
                "status": "completed",
            })
        whole = {
            "id": f"resp_{model.count}", "object": "response", "created_at": 1, "status": "completed", "error": None,
            "incomplete_details": None, "instructions": None, "metadata": {}, "model": body.get("model"), "output": output,
            "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
            "previous_response_id": body.get("previous_response_id"),
            "usage": {
                "input_tokens": turn.usage[0], "input_tokens_details": {"cached_tokens": 0}, "output_tokens": turn.usage[1],
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": sum(turn.usage),
            },
        }
        model.stored[whole["id"]] = Responses.input(model, body) + output
        return whole, list(Responses.events(whole))

    @staticmethod
    def events(whole):
        number = iter(range(10_000))

        def event(kind, **members):
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **members, 'sequence_number': next(number)})}\n\n"

        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        yield event("response.created", response=begun)
        yield event("response.in_progress", response=begun)
        for index, item in enumerate(whole["output"]):
            at = {"output_index": index, "item_id": item["id"]}
            if item["type"] == "message":
                yield event("response.output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"})
                part = item["content"][0]
                yield event("response.content_part.added", **at, content_index=0, part={**part, "text": ""})
                for piece in pieces(part["text"]):
                    yield event("response.output_text.delta", **at, content_index=0, delta=piece, logprobs=[])
                yield event("response.output_text.done", **at, content_index=0, text=part["text"], logprobs=[])
                yield event("response.content_part.done", **at, content_index=0, part=part)
            elif item["type"] == "function_call":
                yield event("response.output_item.added", output_index=index, item={**item, "arguments": "", "status": "in_progress"})
                for piece in pieces(item["arguments"]):
                    yield event("response.function_call_arguments.delta", **at, delta=piece)
                yield event("response.function_call_arguments.done", **at, arguments=item["arguments"], name=item["name"])
            else:
                yield event("response.output_item.added", output_index=index, item=item)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=whole)


class Messages:
    @staticmethod
    def history(model, body):
        """What was said, also in a thread that the API keeps."""
        thread = body.get("thread") or {}
        previous = thread.get("previous_message_id")
        if thread.get("type") == "continue" and previous not in model.stored:
            raise Refused("no such message")
        return model.stored.get(previous, []) + body["messages"]

    @staticmethod
    def check(model, body):
        asked, known, last = [], set(), None
        for message in Messages.history(model, body):
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
                raise Refused("an empty text")
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            if sorted(results) != sorted(asked):
                raise Refused(f"calls {asked} and results {results}")
            if any(block["type"] == "tool_result" for block in blocks[len(results) :]):
                raise Refused("results stand first")
            asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
            if known & set(asked):
                raise Refused("two calls of one id")
            known |= set(asked)
            if asked and body.get("thinking") and blocks[0]["type"] != "thinking":
                raise Refused("calls of a model that thinks begin with what it thought")
            last = message["role"]
        if asked or last != "user":
            raise Refused("the last message is the user's")

    @staticmethod
    def say(model, body, turn, calls):
        content = [{"type": "thinking", "thinking": "Let me see.", "signature": "sig"}] if body.get("thinking") else []
        content += [{"type": "text", "text": turn.text}] if turn.text else []
        content += [{"type": "tool_use", "id": id, "name": name, "input": arguments} for id, name, arguments in calls]
        usage = {"input_tokens": turn.usage[0], "output_tokens": turn.usage[1]}
        whole = {
            "id": f"msg_{model.count}", "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None, "usage": usage,
        }
        if body.get("thread"):
            model.stored[whole["id"]] = [*Messages.history(model, body), {"role": "assistant", "content": content}]
        return whole, list(Messages.events(whole))

    @staticmethod
    def events(whole):
        def event(kind, **members):
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n"

        start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
        yield event("message_start", message=start)
        yield event("ping")
        for index, block in enumerate(whole["content"]):
            empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}[block["type"]]
            yield event("content_block_start", index=index, content_block={**block, **empty})
            if block["type"] == "text":
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            elif block["type"] == "thinking":
                deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}, {"type": "signature_delta", "signature": "sig"}]
            else:
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(written(block["input"]))]
            for delta in deltas:
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield event("message_delta", delta=delta, usage={"output_tokens": whole["usage"]["output_tokens"]})
        yield event("message_stop")
