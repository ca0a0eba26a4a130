"""A recording judged anew with Spark: each executor takes some of the tasks. A part is read as a stream."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator

import pyarrow as pa
import recording
from pyspark.sql import SparkSession
from recording import ORDER, judge, main


def run(path: pathlib.Path, workers: int) -> list[str]:
    # an executor has a copy of `recording` in a folder of its own, and is told where the policies are
    policies = recording.POLICIES

    def judge_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lines = (line for batch in batches for line in batch.column("line").to_pylist())
        yield pa.RecordBatch.from_pydict({"tally": [judge(lines, policies)]})

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "ERROR").getOrCreate()
    session.sparkContext.addPyFile(recording.__file__)
    # the parts are as many as the workers, so that the cost of a part is paid once for each
    parts = session.read.parquet(str(path)).repartition(workers, "task").sortWithinPartitions(*ORDER)
    tallies = parts.mapInArrow(judge_part, "tally string").collect()
    session.stop()
    return [row.tally for row in tallies]


if __name__ == "__main__":
    main(run)
