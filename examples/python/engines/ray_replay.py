"""A recording judged anew with Ray Data: each worker takes some of the tasks."""

from __future__ import annotations

import pathlib
import zlib

import pyarrow as pa
import ray
from recording import ORDER, judge, main

PARTS = 8


def in_parts(rows: pa.Table) -> pa.Table:
    """The rows with the number of a part, which is the same for all rows of a task."""
    return rows.append_column("part", [[zlib.crc32(task.encode()) % PARTS for task in rows["task"].to_pylist()]])


def judge_part(part: pa.Table) -> pa.Table:
    return pa.table({"tally": [judge(part.sort_by([(column, "ascending") for column in ORDER])["line"].to_pylist())]})


def run(path: pathlib.Path, workers: int) -> list[str]:
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = ray.data.read_parquet(str(path)).map_batches(in_parts, batch_format="pyarrow")
    tallies = rows.groupby("part").map_groups(judge_part, batch_format="pyarrow").take_all()
    return [row["tally"] for row in tallies]


if __name__ == "__main__":
    main(run)
