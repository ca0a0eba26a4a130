"""What several tests need: the repository, the shop's agent, a server, Postgres where it is installed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import celador
import shop
from servers import free_port, start_server, stop_server

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT


@pytest.fixture
def agent() -> celador.Agent:
    """The shop's agent, with tasks in memory."""
    return celador.load({"shop.yaml": shop.MANIFESTS}).agent("shop/desk")


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    """The shop's manifests as a file."""
    path = tmp_path / "shop.yaml"
    path.write_text(shop.MANIFESTS)
    return path


@pytest.fixture
def server(tmp_path: Path, manifests: Path) -> Iterator[str]:
    """The address of a server of the shop."""
    port = free_port()
    process = start_server(manifests, port, str(tmp_path / "server.db"))
    yield f"http://127.0.0.1:{port}"
    stop_server(process)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a Postgres of these tests; without one installed what needs it is skipped."""
    binary = shutil.which("postgres") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))), None)
    if binary is None:
        pytest.skip("Postgres is not installed")
    folder = Path(binary).resolve().parent
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        data, port = Path(place) / "data", free_port()
        as_user: list[str] = []
        if os.geteuid() == 0:
            # it does not run as root
            shutil.chown(place, "nobody")
            as_user = ["setpriv", "--reuid=nobody", "--clear-groups", "--"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": place}
        made = subprocess.run([*as_user, str(folder / "initdb"), "-D", str(data), "-U", "celador", "-A", "trust"], **quiet)  # type: ignore[call-overload]
        if made.returncode != 0:
            pytest.skip("Postgres cannot be set up here")
        server = subprocess.Popen(
            [*as_user, str(folder / "postgres"), "-D", str(data), "-p", str(port), "-k", place, "-c", "listen_addresses=127.0.0.1"],
            **quiet,  # type: ignore[call-overload]
        )
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        time.sleep(0.5)
        yield f"postgres://celador@127.0.0.1:{port}/postgres"
        server.send_signal(signal.SIGINT)
        server.wait(30)
