"""What the command costs where it is a process of its own: a hook of Claude Code for each event. Rows of `benches/runtimes/run`.

In: the program (`--celador`), a number of events (`--events`). Out: a line of JSON for each way: the median and the 90th percentile of the time from the start
of a process to its end, in microseconds, and the median of the processor time that it used. An event is a call that is let through or its result, in one
session, under the agent of `examples/claude-code`, with a store in a file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
RULES = str(ROOT / "examples/claude-code")


def event(at: int) -> bytes:
    """A call of a tool, and then its result."""
    call = {"session_id": "s-1", "transcript_path": "/home/kim/s-1.jsonl", "cwd": "/srv/shop", "permission_mode": "default", "tool_name": "Bash",
            "tool_input": {"command": "ls -l"}, "tool_use_id": f"toolu_{at // 2}"}
    if at % 2 == 0:
        return json.dumps({**call, "hook_event_name": "PreToolUse"}).encode()
    return json.dumps({**call, "hook_event_name": "PostToolUse", "tool_response": {"stdout": "total 0", "stderr": ""}}).encode()


def once(command: list[str], given: bytes) -> tuple[float, float, bytes]:
    """Runs a command: the microseconds from its start to its end, those that it used of a processor, and what it wrote."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout:
        stdin.write(given)
        stdin.seek(0)
        begun = time.perf_counter()
        process = os.posix_spawn(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, stdin.fileno(), 0), (os.POSIX_SPAWN_DUP2, stdout.fileno(), 1)])
        _, status, used = os.wait4(process, 0)
        took = time.perf_counter() - begun
        assert status == 0, f"{command} ended with {status}"
        stdout.seek(0)
        return took * 1e6, (used.ru_utime + used.ru_stime) * 1e6, stdout.read()


def measured(what: str, events: int, command: list[str], given: Callable[[int], bytes], wanted: bytes | None) -> None:
    """Prints the row of one way."""
    rows = []
    for at in range(events + 10):
        *taken, said = once(command, given(at))
        assert wanted is None or said.strip() == wanted, said
        # the first ones make the store
        if at >= 10:
            rows.append(taken)
    walls, used = (sorted(row[at] for row in rows) for at in (0, 1))
    print(json.dumps({"what": what, "p50": walls[events // 2], "p90": walls[events * 9 // 10], "used": used[events // 2]}), flush=True)


def main() -> None:
    """Prints the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--celador", default=str(ROOT / "target/release/celador"))
    parser.add_argument("--events", type=int, default=300)
    arguments = parser.parse_args()
    celador, events = arguments.celador, arguments.events
    measured("a process that says its version", events, [celador, "--version"], lambda _: b"", None)
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        hook = [celador, "hook", "claude-code", RULES, "--data", folder, "--user", "kim"]
        measured("an event of Claude Code, `celador hook`", events, hook, event, b"{}")
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        serve = [celador, "serve", RULES, "--data", folder, "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout is not None
            address = "http://" + server.stdout.readline().split()[-1]
            hook = [celador, "hook", "claude-code", "--server", address, "--user", "kim"]
            measured("an event of Claude Code, `celador hook --server`", events, hook, event, b"{}")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
