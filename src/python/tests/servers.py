"""Servers of the tests: `celador serve` in a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest


def free_port() -> int:
    """A port that is free just now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def start_server(manifests: Path, port: int, store: str, *more: str) -> subprocess.Popen[bytes]:
    """`celador serve`, once it answers."""
    command = [sys.executable, "-m", "celador", "serve", str(manifests), "--listen", f"127.0.0.1:{port}", "--store", store, *more]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdout is not None
    # it says so once it listens and has taken the signals
    if not server.stdout.readline():
        pytest.fail(f"the server has ended with {server.wait()}")
    return server


def stop_server(server: subprocess.Popen[bytes]) -> int:
    """Stops it as Ctrl-C does."""
    server.send_signal(signal.SIGINT)
    return server.wait(30)
