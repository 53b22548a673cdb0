"""A copy of a file with calibrated columns, written batch by batch so that memory stays bounded."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from calibrant.calibrators.base import Calibrator
from calibrant.cli.errors import UserError, first_line, listed
from calibrant.cli.files import has_format, require_file
from calibrant.cli.labels import named_labels
from calibrant.cli.predictions import Scale, read_values
from calibrant.cli.selection import food, takes_any_scale
from calibrant.cli.tables import Table
from calibrant.inputs import FloatArray
from calibrant.saving import atomic_path, load, read_document


def load_calibrator(path: Path) -> Calibrator:
    """A calibrator that was saved, and nothing else."""
    require_file(path)
    loaded = load(path)
    if not isinstance(loaded, Calibrator):
        raise UserError(f"{path} holds a {type(loaded).__name__}, not a calibrator.")
    return loaded


def check_scale(path: Path, calibrator: Calibrator, scale: Scale) -> None:
    """Raise UserError where the calibrator was fitted on another scale, and minds."""
    fitted_on = read_document(path).get("input", scale)
    if takes_any_scale(calibrator) and fitted_on != scale:
        raise UserError(
            f"{path} was fitted with --input {fitted_on}: pass the same, with columns that hold "
            "such values."
        )


def in_class_order(calibrator: Calibrator, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns in the order of the calibrator's classes, where they are named after these."""
    classes = calibrator.classes_.tolist()
    named = named_labels(columns, classes)
    if named is None or len(named) != len(classes):
        return columns
    column_of = dict(zip(named, columns, strict=True))
    return tuple(column_of[label] for label in classes)


def calibrated_columns(
    calibrator: Calibrator, table: Table, columns: tuple[str, ...], prefix: str
) -> list[str]:
    """The names of the new columns; an error where the file or the calibrator does not fit."""
    expected = calibrator.n_features_in_
    if len(columns) != expected:
        raise UserError(
            f"the calibrator was fitted on {expected} column{'s' * (expected != 1)} of predictions "
            f"(classes {listed([str(v) for v in calibrator.classes_.tolist()], 6)}), but "
            f"{len(columns)} are named: {listed([*columns], 6)}."
        )
    new = [prefix + column for column in columns]
    taken = [name for name in new if name in table.columns]
    if taken:
        raise UserError(f'{table.name} has a column "{taken[0]}" already: choose another --prefix.')
    return new


def write_calibrated(
    calibrator: Calibrator,
    table: Table,
    columns: tuple[str, ...],
    output: Path,
    *,
    scale: Scale,
    normalize: bool,
    prefix: str,
    overwrite: bool,
    progress: Callable[[int], None] = lambda rows: None,
) -> tuple[int, int]:
    """Write all rows and columns of the table and the calibrated columns.

    Returns how many rows there are, and how many of them were divided by their sums.

    The file appears when it is complete, or not at all.
    """
    new = calibrated_columns(calibrator, table, columns, prefix)
    schema = table.lazy.collect_schema()
    schema.update(dict.fromkeys(new, pl.Float64()))
    n_rows = n_divided = 0

    def batches() -> Iterator[pl.DataFrame]:
        nonlocal n_rows, n_divided
        for batch in table.batches():
            values, n_off = read_values(
                table, batch, columns, scale, normalize=normalize, first_row=n_rows
            )
            yield _with_calibrated(calibrator, batch, values, new, scale)
            n_rows += batch.height
            n_divided += n_off
            progress(n_rows)

    write = write_csv if has_format(output, ".csv") else write_parquet
    with atomic_path(output, overwrite=overwrite) as temporary:
        write(batches(), schema, temporary)
    return n_rows, n_divided


def write_csv(batches: Iterator[pl.DataFrame], schema: pl.Schema, path: Path) -> None:
    with path.open("wb") as file, _as_os_error():
        pl.DataFrame(schema=schema).write_csv(file)
        for batch in batches:
            batch.write_csv(file, include_header=False)


def write_parquet(batches: Iterator[pl.DataFrame], schema: pl.Schema, path: Path) -> None:
    failure: list[Exception] = []

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        try:
            yield from batches
        except Exception as error:
            # Polars would wrap the error in one of its own, with a traceback for a message.
            failure.append(error)
            raise

    path.touch()  # where that fails, the error says which file it was
    try:
        with _as_os_error():
            register_io_source(source, schema=schema).sink_parquet(path, maintain_order=True)
    except OSError:
        if failure:
            raise failure[0] from None
        raise


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Let a disk that is full, say, be the same error from Polars as from Python."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise OSError(errno.EIO, f"cannot be written ({first_line(error)})") from error


def _with_calibrated(
    calibrator: Calibrator,
    batch: pl.DataFrame,
    values: FloatArray,
    new: list[str],
    scale: Scale,
) -> pl.DataFrame:
    prob = calibrator.predict_proba(food(calibrator, values, scale))
    by_column = prob[:, np.newaxis] if prob.ndim == 1 else prob
    return batch.with_columns(
        pl.Series(name, np.ascontiguousarray(by_column[:, k])) for k, name in enumerate(new)
    )
