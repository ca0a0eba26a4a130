"""The command inside the package."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
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


def test_an_interrupt_ends_a_server(manifests: Path, tmp_path: Path) -> None:
    server = servers.start_server(manifests, servers.free_port(), "memory")
    assert servers.stop_server(server) == 0


def test_an_interrupt_ends_any_command() -> None:
    repl = subprocess.Popen([sys.executable, "-m", "celador", "repl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.5)
    repl.send_signal(signal.SIGINT)
    assert repl.wait(10) != 0
