"""A copy of a file with new columns made of its forecasts, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from calibrant.cli.applying import write_csv, write_parquet
from calibrant.cli.errors import UserError
from calibrant.cli.files import check_format, has_format
from calibrant.cli.forecast.columns import ForecastColumns
from calibrant.forecasts import Forecast
from calibrant.recalibration.base import Recalibration
from calibrant.saving import atomic_path

# New columns by name, made of the forecasts of some rows.
Make = Callable[[Forecast], dict[str, Any]]

# Whole numbers, which stay such in a CSV file; all other new columns are floats.
DECISION = "decision"

DEFAULT_LEVELS = "0.05,0.25,0.5,0.75,0.95"

# Rows whose forecasts are looked at together.
_ROWS = 65_536


def parse_numbers(text: str, option: str) -> dict[str, float]:
    """Numbers separated by commas, by what was written."""
    found: dict[str, float] = {}
    for part in text.split(","):
        try:
            number = float(part)
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            raise UserError(f'{option} {text}: "{part}" is not a number; write them as 0.1,0.5.')
        if number in found.values():
            raise UserError(f"{option} {text}: {part.strip()} is there twice.")
        found[part.strip()] = number
    return found


def summary_of(levels: str | None, cdf_at: str | None) -> tuple[list[str], Make]:
    """Which columns `apply` appends: quantiles and mean, probabilities, or both."""
    if levels is None and cdf_at is None:
        levels = DEFAULT_LEVELS
    quantiles = {} if levels is None else parse_numbers(levels, "--levels")
    for written, level in quantiles.items():
        if not 0.0 < level < 1.0:
            raise UserError(f"--levels {written}: a level is a number between 0 and 1, as 0.05.")
    points = {} if cdf_at is None else parse_numbers(cdf_at, "--cdf-at")
    names = [f"q{float(level)!r}" for level in quantiles.values()]
    names += ["mean"] if quantiles else []
    names += [f"cdf_{written}" for written in points]

    def make(forecast: Forecast) -> dict[str, Any]:
        columns = [forecast.ppf(level) for level in quantiles.values()]
        columns += [forecast.mean()] if quantiles else []
        columns += [forecast.cdf(point) for point in points.values()]
        return dict(zip(names, columns, strict=True))

    return names, make


def write_appended(
    columns: ForecastColumns,
    recalibration: Recalibration | None,
    names: list[str],
    make: Make,
    output: Path,
    *,
    prefix: str,
    overwrite: bool,
    progress: Callable[[int], None] = lambda rows: None,
) -> int:
    """Write all rows and columns of the file and the new ones; return the number of rows.

    The file appears when it is complete, or not at all.
    """
    table = columns.table
    check_new_names(columns, names, output, prefix)
    schema = table.lazy.collect_schema()
    for name in names:
        schema[prefix + name] = pl.Int64() if name == DECISION else pl.Float64()
    n_rows = 0

    def batches() -> Iterator[pl.DataFrame]:
        nonlocal n_rows
        for whole in table.batches():
            for batch in whole.iter_slices(_ROWS):
                forecast: Forecast = columns.read(batch, first_row=n_rows)
                if recalibration is not None:
                    forecast = recalibration.transform(forecast)
                new = make(forecast)
                yield batch.with_columns(
                    pl.Series(prefix + name, np.ascontiguousarray(new[name])) for name in names
                )
                n_rows += batch.height
                progress(n_rows)

    write = write_csv if has_format(output, ".csv") else write_parquet
    with atomic_path(output, overwrite=overwrite) as temporary:
        write(batches(), schema, temporary)
    return n_rows


def check_new_names(columns: ForecastColumns, names: list[str], output: Path, prefix: str) -> None:
    """Raise UserError where the file has a column of a new name, or the output is of no format."""
    check_format(output)
    taken = [prefix + name for name in names if prefix + name in columns.table.columns]
    if taken:
        raise UserError(
            f'{columns.table.name} has a column "{taken[0]}" already: put something before the '
            "names of the new columns with --prefix."
        )
