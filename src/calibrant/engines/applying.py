"""Calibrated columns added to a data frame of any engine, which computes them itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import narwhals as nw

from calibrant.calibrators.base import Calibrator
from calibrant.engines.expressions import (
    LARGEST_EXPONENT,
    Binary,
    Clip,
    Column,
    Function,
    Member,
    Node,
    Number,
    Shared,
    Softmax,
    Steps,
    Total,
    Within,
)
from calibrant.engines.maps import calibrated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Engines that run Python look up more pieces than this by binary search: they would compute every
# piece for every row.
_FEW_PIECES = 16
_PREFIX = "calibrant temporary "

Value = Any
"""A narwhals expression or a Python number."""


def add_calibrated(
    calibrator: Calibrator,
    frame: Any,
    prob: str | Sequence[str],
    name: str | Sequence[str] | None,
) -> Any:
    """The frame with what `predict_proba` gives in new columns."""
    held = nw.from_native(frame, pass_through=True)
    if not isinstance(held, nw.DataFrame | nw.LazyFrame):
        raise ValueError(
            f"frame is of type {type(frame).__name__}: it must be a data frame of Polars, pandas, "
            "PyArrow, DuckDB, Dask, PySpark or another engine that narwhals knows."
        )
    there = held.collect_schema().names()
    _check_there(prob, there)
    names = _new_names(prob, name, there)
    nodes = calibrated(calibrator, prob)
    workshop = _Workshop(held)
    values = [workshop.expression(node) for node in nodes]
    new = [value.alias(new) for value, new in zip(values, names, strict=True)]
    return workshop.frame.with_columns(*new).select(*there, *names).to_native()


def _check_there(prob: str | Sequence[str], there: list[str]) -> None:
    for column in [prob] if isinstance(prob, str) else prob:
        if column not in there:
            raise ValueError(
                f"prob names the column {column!r}, but the columns of the frame are "
                f"{', '.join(map(repr, there))}."
            )


def _new_names(
    prob: str | Sequence[str], name: str | Sequence[str] | None, there: list[str]
) -> list[str]:
    if name is None:
        old = [prob] if isinstance(prob, str) else prob
        names = [f"{column}_calibrated" for column in old]
    elif isinstance(name, str) != isinstance(prob, str) or (
        not isinstance(prob, str) and len(name) != len(prob)
    ):
        raise ValueError(
            f"name is {name!r}, but prob is {prob!r}: give one name for one column, or a list of "
            "as many names for a list of columns."
        )
    else:
        names = [name] if isinstance(name, str) else list(name)
    taken = set(there)
    for new in names:
        if new in taken:
            raise ValueError(f"the frame has a column {new!r} already: pass other name=.")
        taken.add(new)
    return names


class _Workshop:
    """A frame that grows columns for what several expressions share."""

    def __init__(self, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> None:
        self.frame: Any = frame
        self._n = 0
        self._shared: dict[int, list[nw.Expr]] = {}
        self._ratios: dict[int, tuple[list[nw.Expr], nw.Expr]] = {}

    def expression(self, node: Node) -> Value:
        """The node as an expression of columns that are there."""
        match node:
            case Number():
                return node.value
            case Column():
                return nw.col(node.name).cast(nw.Float64)
            case Binary():
                return self._binary(node)
            case Total():
                return reduce(add, map(self.expression, node.terms))
            case Function():
                return self._function(node)
            case Clip():
                return self._clip(node)
            case Within():
                return self._within(node)
            case Steps():
                return self._steps(node)
            case Member():
                return self._held(node.shared)[node.k]
            case Softmax():
                return self._softmax(node)
        raise TypeError(f"{type(node).__name__} is no node.")

    def _binary(self, node: Binary) -> Value:
        left, right = self.expression(node.left), self.expression(node.right)
        match node.sign:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                return left / right

    def _function(self, node: Function) -> Value:
        argument = self.expression(node.argument)
        match node.name:
            case "ln":
                return argument.log()
            case "exp":
                return argument.exp()
            case "abs":
                return argument.abs()

    def _clip(self, node: Clip) -> Value:
        bounds = [None if abs(bound) == float("inf") else bound for bound in (node.low, node.high)]
        return self.expression(node.argument).clip(*bounds)

    def _within(self, node: Within) -> nw.Expr:
        conditions = []
        for tested, low, high in node.tested:
            value = self.expression(tested)
            conditions += [value >= low, value <= high]
        chosen = nw.when(*conditions).then(self.expression(node.inside))
        return chosen if node.outside is None else chosen.otherwise(self.expression(node.outside))

    def _steps(self, node: Steps) -> Value:
        if len(node.values) > _FEW_PIECES and _runs_python(self.frame):
            (argument,) = self._columns([node.argument])
            return self._looked_up(argument, node)

        def tree(first: int, last: int) -> Value:
            """The piece among first..last, as a balanced tree of choices."""
            if first == last:
                return self.expression(node.piece(first))
            middle = (first + last + 1) // 2
            below = nw.when(value < float(node.cuts[middle - 1])).then(tree(first, middle - 1))
            return below.otherwise(tree(middle, last))

        value = self.expression(node.argument)
        return tree(0, len(node.values) - 1)

    def _looked_up(self, argument: str, node: Steps) -> nw.Expr:
        name = self._name()
        kind = self.frame.implementation
        if kind.is_polars():
            import polars as pl

            def of_polars(values: pl.Series) -> pl.Series:
                return pl.Series(node.look_up(values.fill_null(0.0).to_numpy()))

            column = pl.col(argument).map_batches(
                of_polars, return_dtype=pl.Float64, is_elementwise=True
            )
            self.frame = nw.from_native(self.frame.to_native().with_columns(column.alias(name)))
        elif kind.is_dask():
            native = self.frame.to_native()
            found = native[argument].map_partitions(_of_pandas, node, meta=(name, "float64"))
            self.frame = nw.from_native(native.assign(**{name: found}))
        else:
            values = self.frame[argument].fill_null(0.0).to_numpy()
            found = nw.new_series(
                name, node.look_up(values), nw.Float64, backend=self.frame.implementation
            )
            self.frame = self.frame.with_columns(found)
        return nw.col(name)

    def _held(self, shared: Shared) -> list[nw.Expr]:
        if id(shared) not in self._shared:
            self._shared[id(shared)] = [nw.col(name) for name in self._columns(shared.members)]
        return self._shared[id(shared)]

    def _softmax(self, node: Softmax) -> nw.Expr:
        if id(node.logits) not in self._ratios:
            logits = self._held(node.logits)
            self._ratios[id(node.logits)] = self._shares(logits, node.factor)
        shares, whole = self._ratios[id(node.logits)]
        return shares[node.k] / whole

    def _shares(self, logits: list[nw.Expr], factor: float) -> tuple[list[nw.Expr], nw.Expr]:
        """Exponentials in proportion to the probabilities, and their sum."""
        (largest,) = self._add([nw.max_horizontal(*logits)])
        lowest = -LARGEST_EXPONENT
        shares = [((z - nw.col(largest)) * factor).clip(lowest, None).exp() for z in logits]
        held = [nw.col(name) for name in self._add(shares)]
        (whole,) = self._add([reduce(add, held)])
        return held, nw.col(whole)

    def _columns(self, nodes: Sequence[Node]) -> list[str]:
        return self._add([self.expression(node) for node in nodes])

    def _add(self, values: list[Value]) -> list[str]:
        names = [self._name() for _ in values]
        expressions = [v if isinstance(v, nw.Expr) else nw.lit(v) for v in values]
        self.frame = self.frame.with_columns(
            *(value.alias(name) for name, value in zip(names, expressions, strict=True))
        )
        return names

    def _name(self) -> str:
        self._n += 1
        return f"{_PREFIX}{self._n}"


def _runs_python(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> bool:
    return isinstance(frame, nw.DataFrame) or (
        frame.implementation.is_polars() or frame.implementation.is_dask()
    )


def _of_pandas(values: Any, node: Steps) -> Any:
    found: NDArray[np.float64] = node.look_up(values.to_numpy(dtype="float64", na_value=0.0))
    return type(values)(found, index=values.index)
