"""The tables of `benches/runtimes/run`.

In: lines of JSON on standard input, a line for each program of a round: `what`, and figures. Out: tables in Markdown, in which each figure is the median of all
rounds. Times come in microseconds.
"""

from __future__ import annotations

import json
import statistics
import sys


def time(micros: float | None) -> str:
    """A time in the unit that suits it."""
    if micros is None:
        return ""
    return f"{micros:.2f} µs" if micros < 1_000 else f"{micros / 1_000:.2f} ms"


def size(count: float | None) -> str:
    """Bytes as megabytes."""
    return "" if count is None else f"{count / 1e6:.2f} MB"


def main() -> None:
    """Prints the tables."""
    found: dict[str, dict[str, list[float]]] = {}
    for line in sys.stdin:
        row = json.loads(line)
        of_row = found.setdefault(row.pop("what"), {})
        for name, figure in row.items():
            of_row.setdefault(name, []).append(figure)
    rows = {what: {name: statistics.median(figures) for name, figures in of_row.items()} for what, of_row in found.items()}

    print("| runtime | decision p50 | p90 | p99 | loaded in | bytes | sent with brotli |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for what, row in rows.items():
        if "p99" in row:
            loaded = "" if "load_ms" not in row else f"{row['load_ms']:.0f} ms"
            print(f"| {what} | {time(row['p50'])} | {time(row['p90'])} | {time(row['p99'])} | {loaded} | {size(row.get('bytes'))} | {size(row.get('brotli'))} |")
    print()
    print("| what | p50 | p90 | processor time | without Celador |")
    print("|---|--:|--:|--:|--:|")
    for what, row in rows.items():
        if "p99" not in row:
            print(f"| {what} | {time(row['p50'])} | {time(row['p90'])} | {time(row.get('used'))} | {time(row.get('direct'))} |")


if __name__ == "__main__":
    main()
