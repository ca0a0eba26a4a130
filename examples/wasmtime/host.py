"""Celador in wasmtime: a host of the WebAssembly module that is no browser and has no JavaScript. The same in any language that wasmtime is a library of.

In: the path of `celador.wasm`, and a folder of manifests. Out: a line for each of three calls. The module asks its host for the time, for chance, and for functions that policies
declare, of which this host has none; there is no WASI. A request is a text in the memory of the module, its name and behind it the body in JSON; the answer is one likewise.

    pip install wasmtime
    python examples/wasmtime/host.py celador.wasm examples/first-policy
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from wasmtime import Caller, Func, FuncType, Instance, Linker, Memory, Module, Store, ValType


class Celador:
    """The module, loaded once. It has one thread."""

    def __init__(self, module: Path) -> None:
        self._store = Store()
        linker = Linker(self._store.engine)
        linker.define_func("celador", "now", FuncType([], [ValType.f64()]), lambda: time.time() * 1000)
        linker.define_func("celador", "random", FuncType([ValType.i32(), ValType.i32()], []), _random, access_caller=True)
        # of no function of the host there is an answer: it would be 1, and stand where `reply_room` says
        linker.define_func("celador", "call", FuncType([ValType.i32()] * 5, [ValType.i32()]), lambda *_: 0)
        self._instance: Instance = linker.instantiate(self._store, Module.from_file(self._store.engine, str(module)))

    def _call(self, name: str, *given: int) -> int:
        function = self._instance.exports(self._store)[name]
        assert isinstance(function, Func)
        return int(function(self._store, *given) or 0)

    def ask(self, what: str, body: dict[str, Any], about: int = 0) -> Any:
        """What the module says of a request; `about` is the handle of an earlier answer."""
        memory = self._instance.exports(self._store)["memory"]
        assert isinstance(memory, Memory)
        request = f"{what} {json.dumps(body)}".encode()
        memory.write(self._store, request, self._call("room", len(request)))
        length = self._call("answer", about)
        at = self._call("answer_at")
        answer = json.loads(memory.read(self._store, at, at + length))
        if isinstance(answer, dict) and "error" in answer:
            raise ValueError(answer["error"])
        return answer


def _random(caller: Caller, address: int, length: int) -> None:
    memory = caller["memory"]
    assert isinstance(memory, Memory)
    memory.write(caller, os.urandom(length), address)


def main() -> None:
    """Prints what is decided of three calls."""
    module, folder = map(Path, sys.argv[1:])
    celador = Celador(module)
    texts = [{"name": str(file), "text": file.read_text()} for file in sorted(folder.glob("*.yaml"))]
    policies = celador.ask("load", {"sources": texts})["handle"]
    agent = celador.ask("agent", {"name": None}, policies)["handle"]
    task = celador.ask("task", {"id": "thread-7", "user": {"id": "u-7"}}, agent)["handle"]
    for amount in (40, 250, 2000):
        call = {"before": {"function": "payout", "arguments": {"amount": amount}}}
        print(amount, celador.ask("step", {"step": call}, task)["verdict"])


if __name__ == "__main__":
    main()
