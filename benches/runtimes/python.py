"""What a decision costs from Python, beside packages that evaluate policies there: the same guard, in one process and in turn. Rows of `benches/runtimes/run`.

In: a number of rounds (`--rounds`). Out: a line of JSON for each package: the median, the 90th and the 99th percentile of a decision in microseconds, the
milliseconds of an import in a process of its own, and the bytes of all that is installed. Each answer is asserted before it is timed.

Celador's row is a whole decision of a task: its limits, the schema of the arguments, the guard, the record of the call. The others evaluate the
guard alone. All are given a dictionary with three arguments, and the clock is read around each, which is about 0.05 µs of every row.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ARGUMENTS = {"order_id": "o-1041", "amount": 180, "note": "Came broken."}
GUARD = "input.amount <= 1000 && input.order_id.startsWith('o-') && input.note.size() < 100"
CEDAR = """
permit(principal, action, resource) when {
    context.input.amount <= 1000 && context.input.order_id like "o-*" && context.input.note != ""
};
"""

MANIFEST = Path(__file__).with_name("refunds.yaml")
assert GUARD in MANIFEST.read_text(), "another guard than that of refunds.yaml"
CALLS = 1_000
"""Tasks grow with their calls, so each is asked so often and then replaced."""

Decide = Callable[[], Any]


def celador_decision() -> tuple[Decide, Callable[[Any], None]]:
    import celador

    agent = celador.load(str(MANIFEST)).agent()
    assert not agent.task().before("refund", {**ARGUMENTS, "amount": 2000})
    task, asked = agent.task(), 0

    def report(decision: Any) -> None:
        nonlocal task, asked
        assert decision
        # a call that is let through is carried out and reported before the next
        task.after(decision.call, {"paid": 180})
        asked += 1
        if asked % CALLS == 0:
            task = agent.task()

    return lambda: task.before("refund", ARGUMENTS), report


def cedarpy_decision() -> tuple[Decide, Callable[[Any], None]]:
    import cedarpy

    request = {"principal": 'User::"u"', "action": 'Action::"refund"', "resource": 'Shop::"s"', "context": {"input": ARGUMENTS}}
    return lambda: cedarpy.is_authorized(request, CEDAR, []).allowed, lambda _: None


def cel_python_decision() -> tuple[Decide, Callable[[Any], None]]:
    import celpy

    env = celpy.Environment()
    program = env.program(env.compile(GUARD))
    return lambda: bool(program.evaluate({"input": celpy.json_to_cel(ARGUMENTS)})), lambda _: None


def common_expression_language_decision() -> tuple[Decide, Callable[[Any], None]]:
    import cel

    program = cel.compile(GUARD)
    return lambda: program.execute({"input": ARGUMENTS}), lambda _: None


def cel_expr_python_decision() -> tuple[Decide, Callable[[Any], None]]:
    from cel_expr_python import cel

    env = cel.NewEnv(variables={"input": cel.Type.DYN})
    expression = env.compile(GUARD)
    return lambda: bool(expression.eval(data={"input": ARGUMENTS}).value()), lambda _: None


ENGINES: dict[str, tuple[str, Callable[[], tuple[Decide, Callable[[Any], None]]]]] = {
    "celador": ("celador", celador_decision),
    "common-expression-language": ("cel", common_expression_language_decision),
    "cel-expr-python": ("cel_expr_python.cel", cel_expr_python_decision),
    "cedarpy": ("cedarpy", cedarpy_decision),
    "cel-python": ("celpy", cel_python_decision),
}


def import_ms(module: str, tries: int = 15) -> float:
    """The median time of an import in a fresh process, without that of Python itself."""
    program = f"import time; t = time.perf_counter(); import {module}; print((time.perf_counter() - t) * 1000)"
    times = [float(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout) for _ in range(tries)]
    return statistics.median(times)


def installed_bytes(package: str) -> int:
    """What the files of a package and of all that it needs take on disk."""
    seen: set[str] = set()
    wanted, total = [package], 0
    place = sysconfig.get_path("purelib")
    while wanted:
        name = wanted.pop().lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in found.files or []:
            path = os.path.join(place, str(file))
            if os.path.isfile(path) and not path.endswith(".pyc"):
                total += os.path.getsize(path)
        for needed in found.requires or []:
            if "extra ==" not in needed:
                wanted.append(needed.replace("(", " ").split(";")[0].split()[0].split(">")[0].split("=")[0].split("<")[0].split("~")[0].split("!")[0].split("[")[0])
    return total


def main() -> None:
    """Prints the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds

    engines = {name: make() for name, (_, make) in ENGINES.items()}
    times: dict[str, list[int]] = {name: [] for name in engines}
    clock = time.perf_counter_ns
    for name, (decide, report) in engines.items():
        came = decide()
        assert came, name
        report(came)
    for _ in range(rounds):
        for name, (decide, report) in engines.items():
            # what is slow is asked less often, so that all have their turn under the same weather
            for _ in range(20 if name in ("cedarpy", "cel-python") else 100):
                begun = clock()
                came = decide()
                times[name].append(clock() - begun)
                report(came)

    for name, (module, _) in ENGINES.items():
        taken = sorted(times[name])
        p50, p90, p99 = (taken[len(taken) * share // 100] / 1000 for share in (50, 90, 99))
        what = "Celador in Python" if name == "celador" else f"{name} {importlib.metadata.version(name)} in Python"
        row = {"what": what, "p50": p50, "p90": p90, "p99": p99, "load_ms": import_ms(module), "bytes": installed_bytes(name)}
        print(json.dumps(row))


if __name__ == "__main__":
    main()
