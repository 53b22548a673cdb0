"""Parquet files handed to an engine, so that their rows need not fit into memory."""

from __future__ import annotations

import importlib.util
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from calibrant.cli.errors import UserError, first_line
from calibrant.cli.labels import labels_of, read_labels
from calibrant.cli.predictions import mapping
from calibrant.cli.tables import ParquetTable, Table
from calibrant.engines.source import Source

# Files whose columns take more than this share of the machine's memory are not read into it.
_SHARE = 0.1
_BYTES = 8
_UNKNOWN_MEMORY = 8 * 2**30

_PACKAGES = {"duckdb": "duckdb", "dask": "dask", "spark": "pyspark"}


@dataclass(frozen=True)
class EngineData:
    """What `Data` is for rows in memory: a frame of an engine, and what its columns hold."""

    source: str
    engine: str
    frame: Any
    n_rows: int
    label: str
    columns: tuple[str, ...]
    weight: str | None
    labels: list[Any]
    """The classes in the order of the columns, as the command line shows them."""
    written: list[Any]
    """The same as they are written in the file."""
    normalized: None = None

    @property
    def binary(self) -> bool:
        return len(self.labels) == 2

    @property
    def names(self) -> dict[str, Any]:
        """What functions on frames are told."""
        prob = self.columns[0] if len(self.columns) == 1 else list(self.columns)
        return {
            "y": self.label,
            "prob": prob,
            "labels": self.written,
            "sample_weight": self.weight,
        }

    def mapping(self) -> str:
        """Which column predicts which class, in words."""
        return mapping(self.columns, self.labels)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Pass on what the library or the engine says of the rows."""
        with _complaints(self.engine, self.source):
            yield


def chosen(engine: str, table: Table, n_columns: int, scale: str) -> str:
    """The engine that "auto" stands for: memory, or Polars for probabilities in large files."""
    if engine != "auto":
        return engine
    if not isinstance(table, ParquetTable) or scale != "probability":
        return "memory"
    large = table.n_rows * n_columns * _BYTES > _SHARE * memory()
    return "polars" if large else "memory"


def check_engine(engine: str, spark_master: str | None, normalize: bool) -> None:
    """Raise UserError where the engine is not installed, or does not go with the other options."""
    if normalize and engine not in ("auto", "memory"):
        raise UserError(
            f"--normalize divides rows in memory, not in --engine {engine}: use --engine memory, "
            "or divide the columns where they come from."
        )
    if spark_master is not None and engine != "spark":
        raise UserError("--spark-master goes with --engine spark.")
    package = _PACKAGES.get(engine)
    if package is not None and importlib.util.find_spec(package) is None:
        raise UserError(f'--engine {engine} needs {package}: pip install "calibrant[{engine}]"')


def open_engine(
    engine: str,
    table: Table,
    label: str,
    columns: tuple[str, ...],
    *,
    weight: str | None,
    pos_label: str | None,
    scale: str,
    spark_master: str | None,
) -> EngineData:
    """The rows in the hands of the engine; of them only the distinct labels are looked at."""
    if not isinstance(table, ParquetTable):
        raise UserError(
            f"--engine {engine} reads Parquet, but {table.name} is none: convert it, or use "
            "--engine memory."
        )
    if scale != "probability":
        raise UserError(
            f"--engine {engine} takes probabilities, not --input {scale}: convert the columns, or "
            "use --engine memory."
        )
    asked = [label, *columns, *([weight] if weight else [])]
    table.require(asked)
    table.require_rows()
    frame = _opened(engine, table, asked, spark_master)
    with _complaints(engine, table.name):
        found = Source.of(frame, label).labels(label)
    labels, written = _labels(table, label, found, columns, pos_label)
    return EngineData(
        table.name, engine, frame, table.n_rows, label, columns, weight, labels, written
    )


def _opened(engine: str, table: ParquetTable, columns: Sequence[str], master: str | None) -> Any:
    if engine == "polars":
        return table.lazy
    for name in columns:
        if name not in table.in_files:
            raise UserError(
                f'column "{name}" is in the names of the folders, which --engine {engine} does not '
                "read: use --engine polars."
            )
    files = [str(path.resolve()) for path in table.files]
    if engine == "duckdb":
        import duckdb

        return duckdb.connect().read_parquet(files, hive_partitioning=False)
    if engine == "dask":
        import dask.dataframe as dd

        return dd.read_parquet(files, columns=[*columns])
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master or "local[*]").appName("calibrant")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session.read.parquet(*files)


def _labels(
    table: Table, label: str, found: list[Any], columns: tuple[str, ...], pos_label: str | None
) -> tuple[list[Any], list[Any]]:
    """The classes in the order of the columns, as they are shown and as they are written."""
    if None in found:
        raise UserError(
            f'{table.name}: column "{label}" is empty in some rows: fill it in or delete them.'
        )
    series = pl.Series(label, found)
    distinct = read_labels(_Unplaced(table.name), series)
    labels = labels_of(table, series, distinct, columns, pos_label)
    if series.dtype != pl.String:
        return labels, labels
    written = dict(zip(distinct.tolist(), found, strict=True))
    if len(written) < len(found):
        raise UserError(
            f'column "{label}" of {table.name} writes one label in several ways: correct it, or '
            "use --engine memory."
        )
    return labels, [written.get(one, str(one)) for one in labels]


class _Unplaced(Table):
    """Stands for a file in messages about values whose rows nobody knows."""

    n_rows = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def place(self, row: int) -> str:
        return "some row"


@contextmanager
def _complaints(engine: str, name: str) -> Iterator[None]:
    """Turn what the library or the engine says of a frame into words about the file."""
    try:
        with warnings.catch_warnings():
            # Of the engine's future, for whoever maintains calibrant.
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    except ValueError as error:
        raise UserError(_about_file(str(error), name)) from error
    except Exception as error:
        if type(error).__module__.split(".")[0].strip("_") not in {engine, "pyspark", "py4j"}:
            raise
        raise UserError(f"{name} cannot be read by {engine}: {first_line(error)}") from error


def _about_file(message: str, name: str) -> str:
    message = re.sub(r"^frame\[(['\"])(.*?)\1\]", rf'{_escaped(name)}: column "\2"', message)
    return re.sub(r"\bof frame\b", f"of {_escaped(name)}", message)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\")


def memory() -> int:
    """Bytes of the machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN_MEMORY
