"""Two workers on this machine: the numbers are those of arrays, also when one of them is killed.

As a program, with a folder as its argument, this file does Spark's part: a session of a cluster
cannot be had in a process that has had one of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import polars as pl
import psutil
import pytest

from calibrant import ReliabilityTable, reliability_table

N_PARTS = 8
LONG_ENOUGH = 0.2


def rows() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    prob = np.where(rng.random(40_000) < 0.5, rng.integers(0, 101, 40_000) / 100, 0.5)
    return pl.DataFrame({"y": (rng.random(40_000) < prob).astype(int), "p": prob})


def write_parts(folder: Path) -> None:
    for k, part in enumerate(rows().iter_slices(40_000 // N_PARTS)):
        part.write_parquet(folder / f"{k}.parquet")


def linger(folder: str) -> None:
    """Take a while over a part, and leave a trace of having begun."""
    Path(folder, f"{uuid.uuid4()}.begun").touch()
    time.sleep(LONG_ENOUGH)


def begun(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.begun"))


def killing(pid: int, folder: Path) -> Thread:
    """End a process the hard way as soon as some parts have been begun."""

    def kill() -> None:
        while begun(folder) < N_PARTS // 2:
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    thread = Thread(target=kill, daemon=True)
    thread.start()
    return thread


def assert_of_arrays(found: ReliabilityTable) -> None:
    expected = reliability_table(rows()["y"], rows()["p"])
    np.testing.assert_array_equal(found.count, expected.count)
    np.testing.assert_array_equal(found.sum_true, expected.sum_true)
    np.testing.assert_allclose(found.sum_prob, expected.sum_prob, rtol=1e-14)


def table_while_killing(frame: Any, pid: int, folder: Path) -> ReliabilityTable:
    """The table; that a worker's parts were begun twice shows that it was killed in mid-run."""
    thread = killing(pid, folder)
    found = reliability_table(frame, y="y", prob="p")
    thread.join()
    assert not psutil.pid_exists(pid)
    assert begun(folder) > N_PARTS
    return found


def lingering(part: Any, folder: str) -> Any:
    linger(folder)
    return part


@pytest.mark.filterwarnings("ignore")  # what Dask says of lost workers and of ports
def test_dask(tmp_path: Path) -> None:
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    write_parts(tmp_path)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(**options, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        frame = dd.read_parquet(tmp_path / "*.parquet")
        assert_of_arrays(reliability_table(frame, y="y", prob="p"))
        pid = next(iter(client.run(os.getpid).values()))
        slow = frame.map_partitions(lingering, str(tmp_path), meta=frame._meta)
        assert_of_arrays(table_while_killing(slow, pid, tmp_path))


@pytest.mark.skipif(
    "CALIBRANT_SPARK_CLUSTER" not in os.environ,
    reason="three Java machines take a minute: set CALIBRANT_SPARK_CLUSTER=1",
)
def test_spark(tmp_path: Path) -> None:
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is no `java` on the path")
    # Workers write to their home, so it is not where pyspark is installed.
    home = tmp_path / "home"
    home.mkdir()
    for name in ("bin", "jars"):
        (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    write_parts(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, str(tmp_path)],
        env=os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    for line in ran.stdout.splitlines()[-2:]:
        assert_of_arrays(ReliabilityTable.from_dict(json.loads(line)))


def lingering_batches(batches: Iterator[Any], folder: str) -> Iterator[Any]:
    linger(folder)
    yield from batches


def spark_cluster() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,512]")
    # Three Java machines start sooner when they compile and collect garbage the simple way.
    simple = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    for key, value in {
        "spark.driver.extraJavaOptions": simple,
        "spark.executor.extraJavaOptions": simple,
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": 2,
        # A part of the work for each file.
        "spark.sql.files.maxPartitionBytes": 1_000_000,
        "spark.sql.files.openCostInBytes": 1_000_000,
        "spark.sql.files.minPartitionNum": 1,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def executors() -> list[int]:
    """The processes of this one's own cluster that work on parts."""
    return [
        child.pid
        for child in psutil.Process().children(recursive=True)
        if any("CoarseGrainedExecutorBackend" in word for word in child.cmdline())
    ]


def main(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = spark_cluster()
    session.sparkContext.setLogLevel("OFF")
    files = [str(folder / f"{k}.parquet") for k in range(N_PARTS)]
    frame = session.read.parquet(*files)
    found = [reliability_table(frame, y="y", prob="p")]
    slow = frame.mapInArrow(partial(lingering_batches, folder=str(folder)), frame.schema)
    found.append(table_while_killing(slow, executors()[0], folder))
    session.stop()
    for table in found:
        print(json.dumps(table.to_dict()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
