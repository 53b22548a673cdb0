"""CSV and Parquet files: reading them whole or in batches, and saying where they are wrong."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np
import polars as pl

from calibrant.cli.errors import UserError, listed
from calibrant.inputs import FloatArray

FORMATS = (".csv", ".parquet")

# Beyond this many characters, a value of a CSV file is taken for a quote that is not closed.
_LONGEST_TEXT = 2**24

# Bytes of a CSV file that are in memory at a time.
_BLOCK = 2**22


@dataclass(frozen=True)
class Table:
    """A file that was opened but not read yet. The columns of a CSV file are text."""

    path: Path
    lazy: pl.LazyFrame
    columns: tuple[str, ...]

    @property
    def is_csv(self) -> bool:
        return has_format(self.path, ".csv")

    def require(self, names: Sequence[str]) -> None:
        """Raise UserError unless all the columns exist and none is named twice."""
        for name in names:
            if name not in self.columns:
                raise UserError(self._no_column(name))
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise UserError(f'column "{twice[0]}" is asked for twice: each column has one role.')

    @cached_property
    def n_rows(self) -> int:
        """The number of rows; an error where lines of a CSV file do not match its header."""
        if self.is_csv:
            return self._counted[0]
        with self._reading():
            return int(self.lazy.select(pl.len()).collect().item())

    def collect(self, names: Sequence[str]) -> pl.DataFrame:
        """Some of the columns, at least one row."""
        self.require(names)
        if self.n_rows == 0:
            raise UserError(f"{self.path} has the names of columns, but no rows.")
        with self._reading():
            frame = self.lazy.select(names).collect()
        if self.is_csv and self._counted[1]:
            frame = frame[:-1]  # Polars takes the blank line for a row
        self._check_height(frame.height)
        return frame

    def batches(self) -> Iterator[pl.DataFrame]:
        """All rows and columns in their order, a batch at a time."""
        if self.n_rows == 0:
            return
        height = 0
        with self._reading():
            for batch in self._blocks() if self.is_csv else self._row_groups():
                height += batch.height
                yield batch
        self._check_height(height)

    def _row_groups(self) -> Iterator[pl.DataFrame]:
        return self.lazy.collect_batches(maintain_order=True, engine="streaming")

    def _blocks(self) -> Iterator[pl.DataFrame]:
        """The rows of a CSV file, a block of text at a time."""
        # Polars' own batches of a CSV file pile up in memory faster than anybody takes them.
        schema = dict.fromkeys(self.columns, pl.String())
        with self.path.open("rb") as file:
            _whole_records(file, 0)
            # A blank line can only be the last one, which is no row.
            while block := _whole_records(file, _BLOCK).rstrip(b"\r\n"):
                yield pl.read_csv(block, has_header=False, schema=schema)

    def place(self, row: int) -> str:
        """Where a row, counted from 0, is in the file."""
        if not self.is_csv:
            return f"row {row + 1}"
        line, _ = next(islice(self._records(), row + 1, None))
        return f"line {line}"

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except pl.exceptions.PolarsError as error:
            if self.is_csv:
                self._refuse_stray_quote()
            raise UserError(f"{self.path} cannot be read: {_first_line(error)}") from error

    def _check_height(self, height: int) -> None:
        # Polars and the csv module agree on all files but those with stray quotes, where Polars
        # can skip rows without a word.
        if height != self.n_rows:
            self._refuse_stray_quote()
            raise UserError(f"{self.path} cannot be read: {height} of {self.n_rows} rows found.")

    @cached_property
    def _counted(self) -> tuple[int, bool]:
        """The number of records below the header, every one with as many values as that.

        And whether a blank line comes after them.
        """
        # Polars fills short lines up with nulls, and does not look at the ends of lines whose last
        # columns are not asked for: wrong numbers for a text with an unquoted comma in it.
        n_columns = len(self.columns)
        n_records = -1
        blank = None
        for line, record in self._records():
            if blank is not None:
                raise UserError(f"line {blank} of {self.path} is blank: delete it.")
            if not record:  # no harm at the end
                blank = line
                continue
            if len(record) != n_columns:
                raise UserError(
                    f"line {line} of {self.path} has {_count(len(record), 'value')}, but the first "
                    f"line names {_count(n_columns, 'column')}: correct it. Text with commas in it "
                    "needs double quotes around it."
                )
            n_records += 1
        return n_records, blank is not None

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The header and the records of a CSV file, with the number of their first line."""
        csv.field_size_limit(_LONGEST_TEXT)
        line = 1
        with _open_text(self.path) as file:
            reader = csv.reader(file, strict=True)
            try:
                for record in reader:
                    yield line, record
                    line = reader.line_num + 1
            except csv.Error as error:
                raise UserError(
                    f"line {line} of {self.path} is not valid CSV ({error}): look for a double "
                    "quote that is not closed."
                ) from error

    def _refuse_stray_quote(self) -> None:
        """Raise UserError for the first record with a double quote that is not written twice."""
        n_quotes = 0

        def counted(lines: Iterable[str]) -> Iterator[str]:
            nonlocal n_quotes
            for line in lines:
                n_quotes += line.count('"')
                yield line

        with _open_text(self.path) as file:
            for record in csv.reader(counted(file)):
                with_quotes = [field for field in record if '"' in field]
                written = sum(2 * field.count('"') + 2 for field in with_quotes)
                if n_quotes < written:
                    raise UserError(
                        f"{self.path} has a double quote in the text {with_quotes[0]!r}: put the "
                        "text between double quotes and write those inside of it twice."
                    )
                n_quotes = 0

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
    require_file(path)
    check_format(path)
    if has_format(path, ".csv"):
        return _open_csv(path)
    try:
        lazy = pl.scan_parquet(path, glob=False)
        return Table(path, lazy, tuple(lazy.collect_schema().names()))
    except pl.exceptions.PolarsError as error:
        raise UserError(f"{path} is damaged or not a Parquet file: {_first_line(error)}") from error


def require_file(path: Path) -> None:
    """Raise UserError unless there is a file of this name."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: give a file.")
    if not path.exists():
        raise UserError(f"there is no file {path}.")


def check_format(path: Path) -> None:
    """Raise UserError for the name of a file that is neither CSV nor Parquet."""
    if not has_format(path, *FORMATS):
        raise UserError(
            f"{path} is neither .csv nor .parquet by its name: these are the formats calibrant "
            "reads and writes."
        )


def check_output(path: Path, *, sources: Sequence[Path], overwrite: bool) -> None:
    """Raise UserError where a file cannot or must not be written, before the work starts."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: give the name of a file to write.")
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is a device, which would be replaced: name a file to write.")
    if not path.parent.is_dir():
        raise UserError(f"the folder {path.parent} does not exist: create it first.")
    if not path.exists():
        return
    # Even with --force: what is read must not be lost to a slip of the pen.
    if any(source.exists() and path.samefile(source) for source in sources):
        raise UserError(f"{path} is a file to be read: choose another name for the output.")
    if not overwrite:
        raise UserError(f"{path} exists already: choose another name or pass --force.")


def has_format(path: Path, *formats: str) -> bool:
    """Whether the name of a file ends with one of these."""
    return path.suffix.lower() in formats


def _whole_records(file: BinaryIO, size: int) -> bytes:
    """About so many bytes of a CSV file, at least a line, to the end of a record."""
    block = file.read(size) + file.readline()
    # An odd number of quotes: the line ends inside of a quoted text.
    while block.count(b'"') % 2 and (line := file.readline()):
        block += line
    return block


@contextmanager
def _open_text(path: Path) -> Iterator[TextIO]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise UserError(f"{path} is not text in UTF-8: save it as that.") from error


def _open_csv(path: Path) -> Table:
    with _open_text(path) as file:
        header = next(csv.reader(file), None)
    if header is None:
        raise UserError(f"{path} is empty: its first line must name the columns.")
    if not header:
        raise UserError(f"the first line of {path} is blank: it must name the columns.")
    twice = [name for k, name in enumerate(header) if name in header[:k]]
    if twice:
        raise UserError(f'{path} has two columns named "{twice[0]}": rename one of them.')
    # Text is carried along as it is, so that 007 or 1.50 in any column stays what it was.
    lazy = pl.scan_csv(path, infer_schema=False, glob=False)
    table = Table(path, lazy, tuple(header))
    with table._reading():
        names = lazy.collect_schema().names()
    if names != header:
        raise UserError(
            f"the first line of {path} cannot be read: names of columns must be free of line "
            "breaks and double quotes, and lines must end with LF or CR LF."
        )
    return table


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
