"""The command inside the package."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import celador
import servers


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "celador", *arguments], capture_output=True, text=True)


def test_codes_and_output(root: Path, tmp_path: Path) -> None:
    passed = run("test", str(root / "examples" / "first-policy"))
    assert (passed.returncode, passed.stdout) == (0, "3 passed, 0 failed\n")
    assert run("eval", "[1, 2, 3].map(x, x * 10)").stdout == "[10,20,30]\n"
    assert run("--version").stdout == f"celador {celador.__version__}\n"
    assert run("check", str(tmp_path / "nowhere")).returncode == 1
    refused = run("check", str(root / "tests/data/readme/typo.yaml"))
    assert refused.returncode == 3 and "^^^" in refused.stdout + refused.stderr
    assert "Usage" in run("nonsense").stderr


def test_the_script(root: Path) -> None:
    script = Path(sys.executable).with_name("celador")
    ran = subprocess.run([script, "functions", "--format", "json"], capture_output=True, text=True)
    assert ran.returncode == 0 and json.loads(ran.stdout.splitlines()[0])


def test_hooks_start_the_command_again(root: Path, tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    installed = run("hook", "install", str(root / "examples/claude-code"), "--user", "kim", "--data", str(tmp_path), "--settings", str(settings))
    assert installed.returncode == 0, installed.stderr
    hook = json.loads(settings.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]

    def answer(said: Mapping[str, object]) -> dict[str, object]:
        command = [hook["command"], *hook["args"]]
        event = {"session_id": "s-1", "cwd": str(tmp_path), **said}
        environment = {**os.environ, "CLAUDE_PROJECT_DIR": str(tmp_path), "HOME": str(tmp_path / "home")}
        asked = subprocess.run(command, input=json.dumps(event), capture_output=True, text=True, env=environment)
        assert asked.returncode == 0, asked.stderr
        answered: dict[str, object] = json.loads(asked.stdout)
        return answered

    # a session keeps the settings that it begins with
    answer({"hook_event_name": "SessionStart", "source": "startup"})
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t-1", "tool_input": {"command": "sudo ls"}}
    refused = answer(call)["hookSpecificOutput"]
    assert isinstance(refused, dict) and refused["permissionDecision"] == "deny"
    # the settings call it as it was called
    change = {"hook_event_name": "ConfigChange", "source": "project_settings", "file_path": str(settings)}
    assert answer(change) == {}
    # once more is the same once
    before = settings.read_text()
    again = run("hook", "install", str(root / "examples/claude-code"), "--user", "kim", "--data", str(tmp_path), "--settings", str(settings))
    assert again.returncode == 0 and settings.read_text() == before
    assert run("hook", "uninstall", "--settings", str(settings)).returncode == 0
    assert "hooks" not in json.loads(settings.read_text())
    assert answer(change)["decision"] == "block"


def test_an_interrupt_ends_a_server(manifests: Path, tmp_path: Path) -> None:
    server = servers.start_server(manifests, servers.free_port(), "memory")
    assert servers.stop_server(server) == 0


def test_an_interrupt_ends_any_command() -> None:
    repl = subprocess.Popen([sys.executable, "-m", "celador", "repl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.5)
    repl.send_signal(signal.SIGINT)
    assert repl.wait(10) != 0
