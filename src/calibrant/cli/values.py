"""The entries of columns: numbers, and saying which of them is wrong."""

from __future__ import annotations

import numpy as np
import polars as pl

from calibrant.cli.errors import UserError
from calibrant.cli.tables import Table
from calibrant.inputs import FloatArray


def numbers(table: Table, column: pl.Series, *, first_row: int = 0) -> FloatArray:
    """A column as float32 or float64; every entry must be a finite number."""
    if column.dtype == pl.String:
        parsed = column.str.strip_chars().cast(pl.Float64, strict=False)
    elif column.dtype.is_numeric():
        parsed = column if column.dtype == pl.Float32 else column.cast(pl.Float64)
    else:
        raise UserError(
            f'column "{column.name}" of {table.name} holds values of type {column.dtype}, not '
            "numbers."
        )
    fine = parsed.is_finite().fill_null(False).to_numpy()
    if not fine.all():
        row = int(fine.argmin())
        refuse(table, column, row, "which is not a number: correct it", first_row=first_row)
    return parsed.to_numpy()


def refuse(
    table: Table, column: pl.Series, row: int, complaint: str, *, first_row: int = 0
) -> None:
    """Raise UserError about one entry of a column."""
    value = column[row]
    where = f'{table.name}, {table.place(first_row + row)}: column "{column.name}"'
    if value is None or (isinstance(value, str) and not value.strip()):
        raise UserError(f"{where} is empty: fill it in or delete the row.")
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    raise UserError(f"{where} is {shown}, {complaint}.")


def refuse_where(
    bad: np.ndarray, table: Table, column: pl.Series, complaint: str, *, first_row: int = 0
) -> None:
    """Raise UserError about the first of the marked entries, if there is any."""
    if bad.any():
        refuse(table, column, int(bad.argmax()), complaint, first_row=first_row)
