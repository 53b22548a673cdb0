"""The same rows in every engine."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

LOCAL = ("pandas", "polars", "polars lazy", "pyarrow", "duckdb", "dask")

Maker = Callable[[pl.DataFrame], Any]


def _dask(rows: pl.DataFrame) -> Any:
    dd = pytest.importorskip("dask.dataframe")
    pytest.importorskip("dask").config.set(scheduler="synchronous")
    return dd.from_pandas(rows.to_pandas(), npartitions=3)


def _duckdb(rows: pl.DataFrame) -> Any:
    return pytest.importorskip("duckdb").from_arrow(rows.to_arrow())


_MAKERS: dict[str, Maker] = {
    "pandas": pl.DataFrame.to_pandas,
    "polars": lambda rows: rows,
    "polars lazy": pl.DataFrame.lazy,
    "pyarrow": pl.DataFrame.to_arrow,
    "duckdb": _duckdb,
    "dask": _dask,
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for all tests."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is no `java` on the path")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("calibrant tests")
    for key, value in {
        "spark.sql.shuffle.partitions": 2,
        "spark.default.parallelism": 2,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # Minutes are too few for what a second compiler and more collectors would gain.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(params=[*LOCAL, "spark"])
def backend(request: pytest.FixtureRequest) -> Maker:
    """A function that moves Polars rows into an engine."""
    if request.param != "spark":
        return _MAKERS[request.param]
    session = request.getfixturevalue("spark")
    return lambda rows: session.createDataFrame(rows.to_arrow())


@pytest.fixture(params=LOCAL)
def local_backend(request: pytest.FixtureRequest) -> Maker:
    """The same without Spark, whose every query takes part of a second."""
    return _MAKERS[request.param]
