"""CSV and Parquet files: reading them whole or in batches, and saying where they are wrong."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from calibrant.cli.errors import UserError, listed
from calibrant.inputs import FloatArray

FORMATS = (".csv", ".parquet")


@dataclass(frozen=True)
class Table:
    """A file that was opened but not read yet. The columns of a CSV file are text."""

    path: Path
    lazy: pl.LazyFrame
    columns: tuple[str, ...]

    @property
    def is_csv(self) -> bool:
        return self.path.suffix == ".csv"

    def require(self, names: Sequence[str]) -> None:
        """Raise UserError unless all the columns exist and none is named twice."""
        for name in names:
            if name not in self.columns:
                raise UserError(self._no_column(name))
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise UserError(f'column "{twice[0]}" is asked for twice: each column has one role.')

    def collect(self, names: Sequence[str]) -> pl.DataFrame:
        """Some of the columns, at least one row."""
        self.require(names)
        # The last column shows whether lines of a CSV file are cut short.
        wanted = list(dict.fromkeys([*names, self.columns[-1]]))
        with self._reading():
            frame = self.lazy.select(wanted).collect()
        self.check_lines(frame)
        if frame.height == 0:
            raise UserError(f"{self.path} has the names of columns, but no rows.")
        return frame

    def batches(self) -> Iterator[pl.DataFrame]:
        """All rows and columns in their order, a batch at a time."""
        with self._reading():
            yield from self.lazy.collect_batches(maintain_order=True, engine="streaming")

    def n_rows(self) -> int:
        with self._reading():
            return int(self.lazy.select(pl.len()).collect().item())

    def check_lines(self, frame: pl.DataFrame) -> None:
        """Raise UserError where a CSV file has lines with too few values."""
        # Polars fills such lines up with nulls: only a null in the last column is worth a look.
        if self.is_csv and frame[self.columns[-1]].null_count():
            self._find_broken_line()

    def place(self, row: int) -> str:
        """Where a row, counted from 0, is in the file."""
        if not self.is_csv:
            return f"row {row + 1}"
        with self.path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            for _ in range(row + 2):
                next(reader)
            return f"line {reader.line_num}"

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except pl.exceptions.PolarsError as error:
            if self.is_csv:
                self._find_broken_line()
            raise UserError(f"{self.path} cannot be read: {_first_line(error)}") from error

    def _find_broken_line(self) -> None:
        """Raise UserError for the first line of a CSV file that is not like its header."""
        n_columns = len(self.columns)
        with self.path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            last = 0
            try:
                for record in reader:
                    where = f"line {last + 1} of {self.path}"
                    if not record:
                        raise UserError(f"{where} is blank: delete it.")
                    if len(record) != n_columns:
                        raise UserError(
                            f"{where} has {_count(len(record), 'value')}, but the first line names "
                            f"{_count(n_columns, 'column')}: correct it. Text with commas in it "
                            "needs double quotes around it."
                        )
                    last = reader.line_num
            except UnicodeDecodeError as error:
                raise UserError(f"{self.path} is not text in UTF-8: save it as that.") from error
            except csv.Error as error:
                raise UserError(
                    f"line {last + 1} of {self.path} is not valid CSV ({error}): look for a double "
                    "quote that is not closed."
                ) from error

    def _no_column(self, name: str) -> str:
        if len(self.columns) == 1 and any(sign in self.columns[0] for sign in ";\t|"):
            return (
                f'{self.path} has a single column, named "{self.columns[0]}": the values must be '
                "separated by commas."
            )
        close = difflib.get_close_matches(name, self.columns, n=1)
        hint = f' Did you mean "{close[0]}"?' if close else ""
        return f'{self.path} has no column "{name}".{hint} Its columns: {listed([*self.columns])}.'


def open_table(path: Path) -> Table:
    """Look at the head of a file."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: give a CSV or Parquet file.")
    if not path.exists():
        raise UserError(f"there is no file {path}.")
    check_format(path)
    if path.suffix == ".csv":
        return _open_csv(path)
    try:
        lazy = pl.scan_parquet(path, glob=False)
        return Table(path, lazy, tuple(lazy.collect_schema().names()))
    except pl.exceptions.PolarsError as error:
        raise UserError(f"{path} is damaged or not a Parquet file: {_first_line(error)}") from error


def check_format(path: Path) -> None:
    """Raise UserError for the name of a file that is neither CSV nor Parquet."""
    if path.suffix not in FORMATS:
        raise UserError(
            f"{path} is neither .csv nor .parquet by its name: these are the formats calibrant "
            "reads and writes."
        )


def _open_csv(path: Path) -> Table:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header = next(csv.reader(file), None)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text in UTF-8: save it as that.") from error
    if not header:
        raise UserError(f"{path} is empty: its first line must name the columns.")
    twice = [name for k, name in enumerate(header) if name in header[:k]]
    if twice:
        raise UserError(f'{path} has two columns named "{twice[0]}": rename one of them.')
    # Text is carried along as it is, so that 007 or 1.50 in any column stays what it was.
    return Table(path, pl.scan_csv(path, infer_schema=False, glob=False), tuple(header))


def numbers(table: Table, column: pl.Series, *, first_row: int = 0) -> FloatArray:
    """A column as float32 or float64; every entry must be a finite number."""
    if column.dtype == pl.String:
        parsed = column.str.strip_chars().cast(pl.Float64, strict=False)
    elif column.dtype.is_numeric():
        parsed = column if column.dtype == pl.Float32 else column.cast(pl.Float64)
    else:
        raise UserError(
            f'column "{column.name}" of {table.path} holds values of type {column.dtype}, not '
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
    where = f'{table.path}, {table.place(first_row + row)}: column "{column.name}"'
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


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
