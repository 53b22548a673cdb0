"""The same rows in every engine."""

from __future__ import annotations

from collections.abc import Callable
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
