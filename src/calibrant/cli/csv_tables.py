"""CSV files, read strictly: what Polars would repair in silence is an error here."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TextIO

import polars as pl

from calibrant.cli.errors import UserError
from calibrant.cli.tables import Table

# Beyond this many characters, a value of a CSV file is taken for a quote that is not closed.
_LONGEST_TEXT = 2**24

# Bytes of a CSV file that are in memory at a time.
_BLOCK = 2**22


class CsvTable(Table):
    """A CSV file. All columns are text."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        header = self._header()
        self.columns = tuple(header)
        # Text is carried along as it is, so that 007 or 1.50 in any column stays what it was.
        self.lazy = pl.scan_csv(path, infer_schema=False, glob=False)
        with self.reading():
            names = self.lazy.collect_schema().names()
        # Polars leaves double quotes inside of a name as they are written, twice.
        written = [name.replace('"', '""') for name in header]
        if names not in (header, written):
            raise UserError(
                f"the first line of {name} cannot be read: put names of columns with a double "
                "quote in them between double quotes and write those inside twice, or rename the "
                "columns; lines must end with LF or CR LF."
            )
        if names == written:
            self.lazy = self.lazy.rename(dict(zip(names, header, strict=True)))

    @property
    def n_rows(self) -> int:
        return self._counted[0]

    def place(self, row: int) -> str:
        line, _ = next(islice(self._records(), row + 1, None))
        return f"line {line}"

    def _header(self) -> list[str]:
        with self._text() as file:
            header = next(csv.reader(file), None)
        if header is None:
            raise UserError(f"{self.name} is empty: its first line must name the columns.")
        if not header:
            raise UserError(f"the first line of {self.name} is blank: it must name the columns.")
        twice = [name for k, name in enumerate(header) if name in header[:k]]
        if twice:
            raise UserError(f'{self.name} has two columns named "{twice[0]}": rename one of them.')
        return header

    def _checked(self, frame: pl.DataFrame) -> pl.DataFrame:
        if self._counted[1]:
            frame = frame[:-1]  # Polars takes the blank line for a row
        return super()._checked(frame)

    def _batches(self) -> Iterator[pl.DataFrame]:
        # Polars' own batches of a CSV file pile up in memory faster than anybody takes them.
        schema = dict.fromkeys(self.columns, pl.String())
        with self.path.open("rb") as file:
            _whole_records(file, 0)
            # A blank line can only be the last one, which is no row.
            while block := _whole_records(file, _BLOCK).rstrip(b"\r\n"):
                yield pl.read_csv(block, has_header=False, schema=schema)

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
                raise UserError(f"line {blank} of {self.name} is blank: delete it.")
            if not record:  # no harm at the end
                blank = line
                continue
            if len(record) != n_columns:
                raise UserError(
                    f"line {line} of {self.name} has {_count(len(record), 'value')}, but the first "
                    f"line names {_count(n_columns, 'column')}: correct it. Text with commas in it "
                    "needs double quotes around it."
                )
            n_records += 1
        return n_records, blank is not None

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The header and the records, with the number of their first line."""
        csv.field_size_limit(_LONGEST_TEXT)
        line = 1
        with self._text() as file:
            reader = csv.reader(file, strict=True)
            try:
                for record in reader:
                    yield line, record
                    line = reader.line_num + 1
            except csv.Error as error:
                raise UserError(
                    f"line {line} of {self.name} is not valid CSV ({error}): look for a double "
                    "quote that is not closed."
                ) from error

    @contextmanager
    def _text(self) -> Iterator[TextIO]:
        with self.path.open(newline="", encoding="utf-8-sig") as file:
            try:
                yield file
            except UnicodeDecodeError as error:
                raise UserError(f"{self.name} is not text in UTF-8: save it as that.") from error

    def _reason(self) -> str | None:
        """The first record with a double quote that is not written twice."""
        # Polars and the csv module agree on all files but those with stray quotes, where Polars
        # can skip rows without a word.
        n_quotes = 0

        def counted(lines: Iterable[str]) -> Iterator[str]:
            nonlocal n_quotes
            for line in lines:
                n_quotes += line.count('"')
                yield line

        with self._text() as file:
            for record in csv.reader(counted(file)):
                with_quotes = [field for field in record if '"' in field]
                written = sum(2 * field.count('"') + 2 for field in with_quotes)
                if n_quotes < written:
                    return (
                        f"{self.name} has a double quote in the text {with_quotes[0]!r}: put the "
                        "text between double quotes and write those inside of it twice."
                    )
                n_quotes = 0
        return None

    def _no_column(self, name: str) -> str:
        if len(self.columns) == 1 and any(sign in self.columns[0] for sign in ";\t|"):
            return (
                f'{self.name} has a single column, named "{self.columns[0]}": the values must be '
                "separated by commas."
            )
        return super()._no_column(name)


def _whole_records(file: BinaryIO, size: int) -> bytes:
    """About so many bytes of a CSV file, at least a line, to the end of a record."""
    block = file.read(size) + file.readline()
    # An odd number of quotes: the line ends inside of a quoted text.
    while block.count(b'"') % 2 and (line := file.readline()):
        block += line
    return block


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
