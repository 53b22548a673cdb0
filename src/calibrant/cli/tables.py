"""Files of rows that were opened but not read yet."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from calibrant.cli.errors import UserError, did_you_mean, first_line, listed

# A name for the number of rows that no column has.
_HEIGHT = "\0height"


class Table(ABC):
    """One or more files that were opened but not read yet; `name` is what messages call them."""

    name: str
    lazy: pl.LazyFrame
    columns: tuple[str, ...]

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows; an error where the file is malformed."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Where a row, counted from 0, is in the file."""

    def require_rows(self) -> None:
        """Raise UserError unless there are rows."""
        if self.n_rows == 0:
            raise UserError(f"{self.name} has the names of columns, but no rows.")

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
        self.require_rows()
        with self.reading():
            # A bare name such as ^p.*$ would be a pattern.
            frame = self.lazy.select(cs.by_name(*names)).collect()
        return self._checked(frame)

    def aggregate(self, expressions: Sequence[pl.Expr]) -> pl.DataFrame:
        """One row of aggregates over at least one row, without reading all into memory."""
        self.require_rows()
        rows = self.lazy.head(self.n_rows)  # after the last one, Polars may see a blank line
        with self.reading():
            found = rows.select(*expressions, pl.len().alias(_HEIGHT)).collect(engine="streaming")
        self._check_height(int(found[_HEIGHT][0]))
        return found

    def batches(self) -> Iterator[pl.DataFrame]:
        """All rows and columns in their order, a batch at a time."""
        if self.n_rows == 0:
            return
        height = 0
        with self.reading():
            for batch in self._batches():
                height += batch.height
                yield batch
        self._check_height(height)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Pass the complaints of Polars on to the user."""
        try:
            yield
        except pl.exceptions.PolarsError as error:
            reason = self._reason() or f"{self.name} cannot be read: {first_line(error)}"
            raise UserError(reason) from error

    def _batches(self) -> Iterator[pl.DataFrame]:
        return self.lazy.collect_batches(maintain_order=True, engine="streaming")

    def _checked(self, frame: pl.DataFrame) -> pl.DataFrame:
        self._check_height(frame.height)
        return frame

    def _check_height(self, height: int) -> None:
        if height != self.n_rows:
            found = f"{height} of {self.n_rows} rows found"
            raise UserError(self._reason() or f"{self.name} cannot be read: {found}.")

    def _reason(self) -> str | None:
        """What is wrong, where we know it better than Polars."""
        return None

    def _no_column(self, name: str) -> str:
        hint = did_you_mean(name, self.columns)
        return f'{self.name} has no column "{name}".{hint} Its columns: {listed([*self.columns])}.'


class ParquetTable(Table):
    """Parquet files of the same columns, read as one; `constants` are more columns of each file."""

    def __init__(
        self,
        name: str,
        files: Sequence[Path],
        constants: Sequence[dict[str, str | None]] | None = None,
    ) -> None:
        self.name = name
        self.files = files
        called = [name] if len(files) == 1 else map(str, files)
        first, *rest = ({**_schema(*part)} for part in zip(files, called, strict=True))
        for path, schema in zip(files[1:], rest, strict=True):
            if schema != first:
                raise UserError(_difference(path, schema, files[0], first))
        self.lazy = pl.scan_parquet([*files], glob=False)
        self.columns = self.in_files = tuple(first)
        # A file may hold the columns that its folders name as well.
        if constants and (new := [key for key in constants[0] if key not in first]):
            self.columns += tuple(new)
            self.lazy = pl.concat(
                pl.scan_parquet(path, glob=False).select(
                    *first, *(pl.lit(values[key], pl.String).alias(key) for key in new)
                )
                for path, values in zip(files, constants, strict=True)
            )

    @cached_property
    def n_rows(self) -> int:
        return sum(self._heights)

    @cached_property
    def _heights(self) -> list[int]:
        with self.reading():
            lengths = [pl.scan_parquet(path, glob=False).select(pl.len()) for path in self.files]
            return [int(one.item()) for one in pl.collect_all(lengths)]

    def place(self, row: int) -> str:
        if len(self.files) == 1:
            return f"row {row + 1}"
        part = 0
        while row >= self._heights[part]:
            row -= self._heights[part]
            part += 1
        return f"row {row + 1} of {self.files[part]}"


class JsonLinesTable(Table):
    """A JSON object a line."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        if self.n_rows == 0:
            raise UserError(f"{name} is empty: it must have a JSON object in every line.")
        with self.reading():
            self.lazy = pl.scan_ndjson(path, infer_schema_length=None)
            self.columns = tuple(self.lazy.collect_schema().names())

    @cached_property
    def n_rows(self) -> int:
        return sum(1 for _ in self._objects())

    def place(self, row: int) -> str:
        line, _ = next(islice(self._objects(), row, None))
        return f"line {line}"

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects with the numbers of their lines."""
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, self._object(number, line)

    def _object(self, number: int, line: bytes) -> dict[str, Any]:
        # Polars would take the first of two values of one name without a word.
        try:
            content = json.loads(line, object_pairs_hook=_unique, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise UserError(f"line {number} of {self.name} is not valid JSON: {error}.") from error
        if not isinstance(content, dict):
            raise UserError(
                f'line {number} of {self.name} is not a JSON object such as {{"y": 1, "p": 0.7}}.'
            )
        return content


def _schema(path: Path, name: str) -> pl.Schema:
    try:
        return pl.scan_parquet(path, glob=False).collect_schema()
    except pl.exceptions.PolarsError as error:
        raise UserError(f"{name} is damaged or not a Parquet file: {first_line(error)}") from error


def _difference(
    path: Path, schema: dict[str, pl.DataType], first: Path, expected: dict[str, pl.DataType]
) -> str:
    """What is wrong with the columns of a part."""
    for name, dtype in expected.items():
        if name not in schema:
            return f'{path} has no column "{name}", which {first} has: leave one of them out.'
        if schema[name] != dtype:
            return (
                f'column "{name}" is {schema[name]} in {path}, but {dtype} in {first}: write both '
                "with the same type."
            )
    more = next(name for name in schema if name not in expected)
    return f'{path} has a column "{more}", which {first} lacks: leave one of them out.'


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f'"{twice}" is there twice')
    return content


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number in JSON")
