"""Agents that people use, through the proxy, with their default settings: what they send is read, and a call of theirs is judged.

The model is a script: it asks for a command of the shell, and says what came of it. The rules refuse commands with `rm`.
"""

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CELADOR = os.environ.get("CELADOR", str(ROOT / "target/debug/celador"))
AGENTS = Path(os.environ["AGENTS"])


class Script:
    """An API of a model that says one thing after the other, in the events of its interface."""

    def __init__(self, answer):
        self.requests = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, kind, text):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def do_GET(self):
                self.reply("application/json", json.dumps({"object": "list", "data": [], "models": []}))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if "count_tokens" in self.path:
                    return self.reply("application/json", '{"input_tokens": 7}')
                script.requests.append(body)
                whole, events = answer(body, len(script.requests))
                if body.get("stream"):
                    return self.reply("text/event-stream", "".join(f"event: {it['type']}\ndata: {json.dumps(it)}\n\n" for it in events))
                self.reply("application/json", json.dumps(whole))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def proxy():
    begun = []

    def begin(maker, upstream, *arguments):
        command = [CELADOR, "proxy", maker, "--upstream", upstream, "--agent", "desk/coder", "--listen", "127.0.0.1:0",
                   "--policies", str(Path(__file__).parent / "rules.yaml"), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        begun.append(process)
        return process.stdout.readline().split()[-1]

    yield begin
    for process in begun:
        process.terminate()
        process.wait(10)


def message_events(content, stop):
    usage = {"input_tokens": 5, "output_tokens": 5}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop,
             "stop_sequence": None, "usage": usage}
    events = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(content):
        key, delta = ("text", {"type": "text_delta", "text": block.get("text")})
        empty = {**block, "text": ""}
        if block["type"] == "tool_use":
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [{"type": "content_block_start", "index": index, "content_block": empty},
                   {"type": "content_block_delta", "index": index, "delta": delta},
                   {"type": "content_block_stop", "index": index}]
    return whole, [*events, {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}, {"type": "message_stop"}]


def response_events(items):
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": items,
             "usage": {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}}
    events = [{"type": "response.created", "response": {**whole, "output": [], "status": "in_progress", "usage": None}, "sequence_number": 0}]
    for index, item in enumerate(items):
        events += [{"type": "response.output_item.added", "output_index": index, "item": item, "sequence_number": 0},
                   {"type": "response.output_item.done", "output_index": index, "item": item, "sequence_number": 0}]
    return whole, [*events, {"type": "response.completed", "response": whole, "sequence_number": 9}]


def said(text):
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def test_claude_code(proxy, tmp_path):
    def answer(body, count):
        results = [block for message in body["messages"] if isinstance(message["content"], list)
                   for block in message["content"] if block["type"] == "tool_result"]
        if results or not any(tool.get("name") == "Bash" for tool in body.get("tools", [])):
            return message_events([{"type": "text", "text": f"It said {json.dumps(results)[-400:]}."}], "end_turn")
        command = {"command": "echo from-the-$((40+2))-shell", "description": "Say it"}
        return message_events([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": command},
                               {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {**command, "command": "rm -rf nothing"}}], "tool_use")

    script = Script(answer)
    address = proxy("anthropic", script.address)
    environment = {**os.environ, "HOME": str(tmp_path), "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "k",
                   "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1"}
    claude = AGENTS / "node_modules/.bin/claude"
    done = subprocess.run([claude, "-p", "Say it.", "--output-format", "json", "--allowedTools", "Bash"], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "from-the-42-shell" in json.loads(done.stdout)["result"]
    assert "Nothing is removed here." in json.dumps(script.requests), "the model was told of the call that was refused"


def test_codex(proxy, tmp_path):
    def answer(body, count):
        results = [item for item in body["input"] if item.get("type", "").endswith("_output")]
        if results:
            return response_events([said(f"It said {json.dumps(results)[-600:]}.")])
        names = [tool.get("name") for tool in body["tools"]]
        if "exec_command" in names:
            call = ("exec_command", {"cmd": "echo from-the-$((40+2))-shell"}, {"cmd": "rm -rf nothing"})
        else:
            call = (next(name for name in names if name and "shell" in name), {"command": ["bash", "-lc", "echo from-the-$((40+2))-shell"]}, {"command": ["rm", "nothing"]})
        return response_events([
            {"type": "function_call", "id": f"fc_{at}", "call_id": f"call_{at}", "name": call[0], "arguments": json.dumps(arguments), "status": "completed"}
            for at, arguments in enumerate(call[1:])])

    script = Script(answer)
    address = proxy("openai", f"{script.address}/v1", "--drop-hosted")
    (tmp_path / "config.toml").write_text(f"""
model = "gpt-5.1-codex"
model_provider = "celador"
[model_providers.celador]
name = "celador"
base_url = "{address}/v1"
env_key = "CODEX_KEY"
wire_api = "responses"
""")
    environment = {**os.environ, "CODEX_HOME": str(tmp_path), "CODEX_KEY": "k", "HOME": str(tmp_path)}
    codex = AGENTS / "node_modules/.bin/codex"
    done = subprocess.run([codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Say it."], cwd=tmp_path,
                          env=environment, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "from-the-42-shell" in done.stdout, done.stdout + done.stderr
    assert "Nothing is removed here." in json.dumps(script.requests), "the model was told of the call that was refused"
