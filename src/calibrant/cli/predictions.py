"""The columns of a file that hold predictions, outcomes and weights -> what the library takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from calibrant.cli.errors import UserError, listed
from calibrant.cli.labels import labels_of, read_labels
from calibrant.cli.tables import Table
from calibrant.cli.values import numbers, refuse_where
from calibrant.inputs import ROW_SUM_TOLERANCE, FloatArray
from calibrant.transforms import inv_logit, softmax

Scale = Literal["probability", "logit"]

# Probabilities of ten classes with two decimals sum to one but for 0.05; and this is binary.
ROUNDING = 0.05 + 1e-9


@dataclass(frozen=True)
class Data:
    """Predictions with outcomes, ready for the library."""

    source: str
    """What the file is called in messages."""
    y: NDArray[Any]
    values: FloatArray
    """What the file holds: probabilities or logits, (n,) or (n, K)."""
    prob: FloatArray
    weight: FloatArray | None
    labels: list[Any]
    """The classes in the order of the columns; of a single column the predicted one is last."""
    columns: tuple[str, ...]
    normalized: int | None = None
    """How many rows were divided by their sums; None if that was not asked for."""

    @property
    def binary(self) -> bool:
        return len(self.labels) == 2

    @property
    def options(self) -> dict[str, Any]:
        """What every metric is told besides outcomes and predictions."""
        return {"labels": self.labels, "sample_weight": self.weight}

    def mapping(self) -> str:
        """Which column predicts which class, in words."""
        return mapping(self.columns, self.labels)


def mapping(columns: Sequence[str], labels: Sequence[Any]) -> str:
    """Which column predicts which class, in words."""
    if len(columns) == 1:
        return f"{columns[0]} predicts {labels[1]!r}"
    pairs = zip(columns, labels, strict=True)
    return listed([f"{column} = {label!r}" for column, label in pairs], 4)


def named_predictions(table: Table, names: Sequence[str], prefix: str | None) -> tuple[str, ...]:
    """The columns of predictions that options name or that begin with the prefix, if any."""
    if names and prefix is not None:
        raise UserError(
            "name the columns of predictions either with --prob (once for each class) or with "
            "--prob-prefix, not with both."
        )
    if prefix is not None:
        names = [column for column in table.columns if column.startswith(prefix)]
        if not names:
            raise UserError(
                f'no column of {table.name} begins with "{prefix}". Its columns: '
                f"{listed([*table.columns])}."
            )
    table.require(names)
    return tuple(names)


def read_data(
    table: Table,
    label: str,
    columns: tuple[str, ...],
    *,
    weight: str | None,
    pos_label: str | None,
    scale: Scale,
    normalize: bool = False,
) -> Data:
    """Read and check the predictions, outcomes and weights of a file."""
    frame = table.collect([label, *columns, *([weight] if weight else [])])
    y = read_labels(table, frame[label])
    values, n_divided = read_values(table, frame, columns, scale, normalize=normalize)
    weights = None
    if weight:
        weights = numbers(table, frame[weight])
        refuse_where(weights < 0, table, frame[weight], "but a weight cannot be negative")
    labels = labels_of(table, frame[label], y, columns, pos_label)
    prob = to_probabilities(values, scale)
    normalized = n_divided if normalize else None
    return Data(table.name, y, values, prob, weights, labels, columns, normalized)


def check_normalize(n_columns: int, scale: Scale) -> None:
    """Raise UserError unless there are probabilities of several classes."""
    if scale == "logit":
        raise UserError("--normalize is for probabilities, not for --input logit: leave it out.")
    if n_columns == 1:
        raise UserError(
            "--normalize is for several columns of probabilities, one for each class: leave it out."
        )


def read_values(
    table: Table,
    frame: pl.DataFrame,
    columns: tuple[str, ...],
    scale: Scale,
    *,
    normalize: bool = False,
    first_row: int = 0,
) -> tuple[FloatArray, int]:
    """The predictions as they are in the file, (n,) or (n, K); `first_row` is the frame's place.

    With `normalize`, probabilities that were rounded are divided by their sums. The second value is
    the number of such rows.
    """
    if normalize:
        check_normalize(len(columns), scale)
    read = []
    for name in columns:
        read.append(numbers(table, frame[name], first_row=first_row))
        if scale == "probability":
            outside = (read[-1] < 0) | (read[-1] > 1)
            refuse_where(
                outside,
                table,
                frame[name],
                "which is not a probability in [0, 1]: divide percentages by 100, or pass --input "
                "logit if the column holds logits",
                first_row=first_row,
            )
    if len(read) == 1:
        return read[0], 0
    values = np.column_stack(read)
    if scale == "logit":
        return values, 0
    sums = values.sum(axis=1, dtype=np.float64)
    error = np.abs(sums - 1)
    off = error > row_sum_tolerance(values.dtype)
    wrong = error > ROUNDING if normalize else off
    if wrong.any():
        row = int(wrong.argmax())
        raise UserError(
            f"{table.name}, {table.place(first_row + row)}: the probabilities "
            f"{listed([*columns], 4)} sum to {sums[row]:.6g}, {_remedy(error[row], normalize)}."
        )
    if off.any():
        values[off] /= sums[off, np.newaxis]
    return values, int(off.sum())


def _remedy(error: float, normalize: bool) -> str:
    """What is to be done about a row of probabilities that do not sum to one."""
    if error <= ROUNDING:
        return (
            "not to one: if they were rounded, pass --normalize, which divides them by their sum; "
            "if not, name a column for each class"
        )
    than_rounding = f" by more than {ROUNDING:g}, which is no rounding" if normalize else ""
    return f"not to one{than_rounding}: name a column for each class, or correct them"


def row_sum_tolerance(dtype: DTypeLike) -> float:
    """How far from one the probabilities of a row may sum to, by their type."""
    return max(ROW_SUM_TOLERANCE, 32 * float(np.finfo(dtype).eps))


def to_probabilities(values: FloatArray, scale: Scale) -> FloatArray:
    if scale == "probability":
        return values
    return inv_logit(values) if values.ndim == 1 else softmax(values)
