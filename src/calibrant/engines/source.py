"""Columns of a data frame of any engine, and sums over its rows, computed where the rows live.

An engine is whatever narwhals can speak to lazily: Polars, DuckDB, Dask, Spark; data frames in
memory are one too. What is asked of them is the least that all of them can do: sums, smallest and
largest values of expressions, for each value of some columns and of one whole number, the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]
"""Arrays of the same length: a row for each group and cell."""

CELL = "cell"
ROWS = "rows"
"""The names under which aggregations give the cell, and the number of rows."""

LARGEST = float(np.finfo(np.float64).max)

_FAULTY = -1
_SPARK_SYNTAX = frozenset(".`")


@dataclass(frozen=True, slots=True)
class Rule:
    """What every row must fulfil, or an aggregation is refused."""

    column: str
    holds: nw.Expr
    """False or null in bad rows."""
    complaint: str
    """What is wrong with a value in words that follow it: "is no probability"."""
    remedy: str
    shown: nw.Expr | None = None
    """The offending value, where it is not that of the column."""


@dataclass(frozen=True)
class Source:
    """A frame of any engine, with the columns whose values it is grouped by.

    Attributes
    ----------
    rows : narwhals.LazyFrame
    schema : dict of str to narwhals data type
    by : tuple of str
        Columns to group by; none for sums over all rows.
    """

    rows: nw.LazyFrame[Any]
    schema: Mapping[str, Any] = field(repr=False)
    by: tuple[str, ...] = ()

    @classmethod
    def of(cls, frame: Any, *columns: str, by: str | Sequence[str] | None = None) -> Source:
        """The frame as a source, when it has these columns.

        Parameters
        ----------
        frame : data frame or relation
            Of pandas, Polars (lazy too), PyArrow, DuckDB, Dask, PySpark, or what else narwhals
            knows.
        *columns : str
            Names of the columns that will be read.
        by : str or sequence of str, optional
            Columns to group by.

        Raises
        ------
        ValueError
            If `frame` is none, or lacks one of the columns.
        """
        rows = _as_lazy(frame)
        if rows is None:
            raise ValueError(
                f"frame is of type {type(frame).__name__}: it must be a data frame or relation of "
                "Polars, pandas, PyArrow, DuckDB, Dask or PySpark."
            )
        if by is not None and not isinstance(by, str | list | tuple):
            raise ValueError(
                f"by must be the name of a column or a list of names, got {type(by).__name__}."
            )
        groups = (by,) if isinstance(by, str) else tuple(by or ())
        schema = dict(rows.collect_schema())
        for name in (*columns, *groups):
            if not isinstance(name, str):
                raise ValueError(f"columns of frame are named by text, got {name!r}.")
            if name not in schema:
                raise ValueError(f"frame has no column {name!r}: it has {', '.join(schema)}.")
            if rows.implementation.is_spark_like() and not _SPARK_SYNTAX.isdisjoint(name):
                raise ValueError(
                    f"frame has the column {name!r}, and Spark reads a dot or a backtick in a name "
                    "as syntax: rename it with withColumnRenamed first."
                )
        return cls(rows, schema, groups)

    def where(self, condition: nw.Expr) -> Source:
        """The rows for which it is true."""
        return Source(self.rows.filter(condition), self.schema, self.by)

    def extended(self, name: str, value: nw.Expr) -> Source:
        """The frame with a column more."""
        return Source(self.rows.with_columns(value.alias(name)), self.schema, self.by)

    def only(self, group: Any) -> Source:
        """The rows of one group, by its key; no longer grouped."""
        values = group if len(self.by) > 1 else (group,)
        conditions = map(self._is, self.by, values)
        return Source(self.rows.filter(*conditions), self.schema)

    def number(self, name: str, argument: str) -> nw.Expr:
        """A column of numbers or booleans as doubles.

        `argument` is what error messages call it.
        """
        dtype = self.schema[name]
        if dtype == nw.Boolean:
            return nw.col(name).cast(nw.Int64).cast(nw.Float64)
        if not dtype.is_numeric():
            raise ValueError(
                f"{argument} is the column {name!r} of type {dtype}, not numbers: convert it to "
                "floats first."
            )
        return nw.col(name).cast(nw.Float64)

    def aggregate(
        self,
        sums: Mapping[str, nw.Expr],
        *,
        lowest: Mapping[str, nw.Expr] | None = None,
        highest: Mapping[str, nw.Expr] | None = None,
        cell: nw.Expr | None = None,
        rules: Sequence[Rule] = (),
    ) -> Columns:
        """Sums of expressions in each group and cell, in one pass over the rows.

        Parameters
        ----------
        sums, lowest, highest : dict of str to narwhals.Expr
            Expressions of single rows; their sums (float64 or int64; nulls count nothing), and
            their smallest and largest values.
        cell : narwhals.Expr, optional
            A whole number of 0 or more for each row. Without it and without groups there is one
            row of results.
        rules : sequence of Rule
            What holds for good rows. The pass itself counts the bad ones; the frame is read again
            only to say which rule they break.

        Returns
        -------
        dict of str to ndarray
            One entry for each group and cell that has rows, in no particular order: the named
            results, `ROWS` (int64), `CELL` (int64), and the values of the groups, for `groups`.

        Raises
        ------
        ValueError
            If a row breaks a rule, or the frame has no rows.
        """
        plan = self.plan(sums, lowest=lowest, highest=highest, cell=cell, rules=rules)
        return self.collect([plan], rules)

    def plan(
        self,
        sums: Mapping[str, nw.Expr],
        *,
        lowest: Mapping[str, nw.Expr] | None = None,
        highest: Mapping[str, nw.Expr] | None = None,
        cell: nw.Expr | None = None,
        rules: Sequence[Rule] = (),
        number: Callable[[nw.Expr], nw.Expr] | None = None,
    ) -> nw.LazyFrame[Any]:
        """An aggregation to be collected together with others over the same rows.

        `number` makes the whole number out of `cell`, which is -1 in bad rows and must be negative
        there afterwards. So it may do what fails on nulls, or on numbers out of range.
        """
        lowest, highest = lowest or {}, highest or {}
        value = nw.lit(0, nw.Int64) if cell is None else cell
        if rules:
            good = nw.all_horizontal(*(rule.holds for rule in rules), ignore_nulls=False)
            value = nw.when(good).then(value).otherwise(nw.lit(_FAULTY, nw.Int16))
        keys = dict(zip(self._keys(), map(self._key, self.by), strict=True))
        columns = {**keys, CELL: value, **sums, **lowest, **highest}
        prepared = self.rows.select(*(value.alias(name) for name, value in columns.items()))
        if number is not None:
            prepared = prepared.with_columns(number(nw.col(CELL)).alias(CELL))
        return prepared.group_by(*keys, CELL).agg(
            nw.len().alias(ROWS),
            *(nw.col(name).sum() for name in sums),
            *(nw.col(name).min() for name in lowest),
            *(nw.col(name).max() for name in highest),
        )

    def collect(self, plans: Sequence[nw.LazyFrame[Any]], rules: Sequence[Rule]) -> Columns:
        """The results of some plans of this source, one below the other."""
        together = plans[0] if len(plans) == 1 else nw.concat(plans, how="vertical")
        result = collected(together)
        if len(result) == 0:
            raise ValueError("frame is empty: at least one row is needed.")
        columns: Columns = {}
        for name in result.columns:
            # Numbers that tell groups apart must not be rounded to doubles.
            read = _as_keys if name in self._keys() else _as_array
            columns[name] = read(result[name].to_list())
        faulty = columns[CELL] < 0
        if faulty.any():
            self._complain(rules, int(columns[ROWS][faulty].sum()))
        return columns

    def groups(self, columns: Columns) -> dict[Any, NDArray[np.intp]]:
        """For each group the places of its results; its key is a tuple if there are several.

        Groups come in the order of their keys where those can be ordered, null last. Without
        groups, the one key is ().
        """
        places: dict[Any, list[int]] = {}
        for place in range(len(columns[CELL])):
            key = tuple(columns[name][place] for name in self._keys())
            places.setdefault(key[0] if len(key) == 1 else key, []).append(place)
        return {key: np.array(places[key]) for key in _in_order(places)}

    def labels(self, name: str) -> list[Any]:
        """Distinct values of a column, at most a thousand of them, by an aggregation of its own."""
        distinct = self.rows.select(self._key(name).alias(CELL)).unique().head(1_000).collect()
        return list(_as_keys(distinct[CELL].to_list()))

    def _keys(self) -> list[str]:
        """What the groups' columns are called in results, where their own names may be taken."""
        return [f"by {i}" for i in range(len(self.by))]

    def _key(self, name: str) -> nw.Expr:
        """A column to compare and group by; categories are the text that they stand for."""
        categories = self.schema[name] in (nw.Categorical, nw.Enum)
        return nw.col(name).cast(nw.String) if categories else nw.col(name)

    def _is(self, name: str, value: Any) -> nw.Expr:
        column = self._key(name)
        if value is not None:
            same: nw.Expr = column == value
            return same
        if self.schema[name].is_float():
            return column.is_null() | column.is_nan()
        return column.is_null()

    def _complain(self, rules: Sequence[Rule], n_bad: int) -> None:
        """Raise ValueError about the first rule that is broken, with a value that breaks it."""
        for rule in rules:
            kept = nw.when(rule.holds).then(nw.lit(0)).otherwise(nw.lit(1))
            shown = self._key(rule.column) if rule.shown is None else rule.shown
            bad = self.rows.select(shown.alias(ROWS), kept.alias(CELL)).filter(nw.col(CELL) == 1)
            counted = bad.select(nw.col(CELL).sum()).collect()
            count = int(counted[CELL].to_list()[0] or 0)
            if count:
                value = bad.head(1).collect()[ROWS].to_list()[0]
                rows = "1 row" if count == 1 else f"{count} rows"
                raise ValueError(
                    f"frame[{rule.column!r}] {rule.complaint} in {rows}, such as {value!r}: "
                    f"{rule.remedy}."
                )
        raise ValueError(f"{n_bad} rows of frame are bad, but a second look found none of them.")


def collected(plan: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """The results of a plan; rows that need not be in memory at once are not."""
    if plan.implementation.is_polars():
        return plan.collect(backend="polars", engine="streaming")
    return plan.collect()


def between(value: nw.Expr, low: float, high: float) -> nw.Expr:
    """Whether numbers are in [low, high]; nan is not."""
    # From the statistics of a Parquet file, which leave nan out, DuckDB concludes that a comparison
    # with both bounds holds in all rows. It concludes nothing of a difference.
    return value.is_between(low, high) & (value - value == 0.0)


def is_frame(values: Any) -> bool:
    """Whether it is a data frame or relation of an engine, in memory or lazy."""
    return _as_lazy(values) is not None


def _as_lazy(values: Any) -> nw.LazyFrame[Any] | None:
    held = nw.from_native(values, pass_through=True)
    if isinstance(held, nw.DataFrame):
        return held.lazy()
    return held if isinstance(held, nw.LazyFrame) else None


def _as_array(values: list[Any]) -> NDArray[Any]:
    """Numbers as int64 or float64 (engines give decimals and wide integers), else as objects."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool, int, Decimal} and kinds and None not in values:
        whole = [int(value) for value in values]
        if all(abs(value) < 2**63 for value in whole) and whole == values:
            return np.array(whole, dtype=np.int64)
    if kinds <= {bool, int, float, Decimal}:
        return np.array([np.nan if value is None else float(value) for value in values])
    return _objects(values)


def _as_keys(values: Iterable[Any]) -> NDArray[Any]:
    """Values to group by; null and nan, which some engines do not tell apart, are None."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return _objects([None if _is_missing(value) else value for value in plain])


def _is_missing(value: Any) -> bool:
    """None, nan, or pandas' NA, which is not even equal to itself in a way that can be asked."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _in_order(keys: Iterable[Any]) -> list[Any]:
    """Keys in ascending order, None last; as they came where they cannot be compared."""

    def rank(key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        return [(part is None, 0 if part is None else part) for part in parts]

    try:
        return sorted(keys, key=rank)
    except TypeError:
        return list(keys)
