"""A recording judged anew with DataFusion: each thread takes some of the tasks. Python is free while lines are judged, so that the threads run side by side."""

from __future__ import annotations

import pathlib
from concurrent.futures import ThreadPoolExecutor

import datafusion
import pyarrow as pa
from datafusion import col
from recording import judge, main


def judge_part(part: datafusion.RecordBatchStream) -> str:
    batches = [batch.to_pyarrow() for batch in part]
    if not batches:
        return judge([])
    return judge(pa.Table.from_batches(batches).sort_by("number")["line"].to_pylist())


def run(path: pathlib.Path, workers: int) -> list[str]:
    config = datafusion.SessionConfig().with_target_partitions(workers)
    # texts as pyarrow sorts them
    config = config.set("datafusion.execution.parquet.schema_force_view_types", "false")
    session = datafusion.SessionContext(config)
    rows = session.read_parquet(str(path)).repartition_by_hash(col("task"), num=workers)
    with ThreadPoolExecutor(workers) as threads:
        return list(threads.map(judge_part, rows.execute_stream_partitioned()))


if __name__ == "__main__":
    main(run)
