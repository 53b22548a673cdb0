"""The columns of a file that hold predictions, outcomes and weights -> what the library takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from calibrant.cli.errors import UserError, listed
from calibrant.cli.tables import Table
from calibrant.cli.values import numbers, refuse_where
from calibrant.inputs import ROW_SUM_TOLERANCE, FloatArray
from calibrant.transforms import inv_logit, softmax

Scale = Literal["probability", "logit"]


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
) -> Data:
    """Read and check the predictions, outcomes and weights of a file."""
    frame = table.collect([label, *columns, *([weight] if weight else [])])
    y = read_labels(table, frame[label])
    values = read_values(table, frame, columns, scale)
    weights = None
    if weight:
        weights = numbers(table, frame[weight])
        refuse_where(weights < 0, table, frame[weight], "but a weight cannot be negative")
    labels = labels_of(table, frame[label], y, columns, pos_label)
    prob = to_probabilities(values, scale)
    return Data(table.name, y, values, prob, weights, labels, columns)


def read_values(
    table: Table,
    frame: pl.DataFrame,
    columns: tuple[str, ...],
    scale: Scale,
    *,
    first_row: int = 0,
) -> FloatArray:
    """The predictions as they are in the file, (n,) or (n, K); `first_row` is the frame's place."""
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
        return read[0]
    values = np.column_stack(read)
    if scale == "probability":
        sums = values.sum(axis=1, dtype=np.float64)
        off = np.abs(sums - 1) > row_sum_tolerance(values.dtype)
        if off.any():
            row = int(off.argmax())
            raise UserError(
                f"{table.name}, {table.place(first_row + row)}: the probabilities "
                f"{listed([*columns], 4)} sum to {sums[row]:.6g}, not to one: name a column for "
                "each class, or correct them."
            )
    return values


def row_sum_tolerance(dtype: DTypeLike) -> float:
    """How far from one the probabilities of a row may sum to, by their type."""
    return max(ROW_SUM_TOLERANCE, 32 * float(np.finfo(dtype).eps))


def to_probabilities(values: FloatArray, scale: Scale) -> FloatArray:
    if scale == "probability":
        return values
    return inv_logit(values) if values.ndim == 1 else softmax(values)


def read_labels(table: Table, column: pl.Series) -> NDArray[Any]:
    """Labels as whole numbers or booleans where the column holds such, else as text."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        blank = column.is_null() | (column.str.strip_chars() == "")
        refuse_where(blank.to_numpy(), table, column, "which is no label")
        column = typed(column)
    refuse_where(column.is_null().to_numpy(), table, column, "which is no label")
    if column.dtype.is_float():
        values = numbers(table, column)
        refuse_where(
            (values != np.floor(values)) | (np.abs(values) > 2**53),
            table,
            column,
            "which is no label: labels are text, booleans or whole numbers below 2^53 (was the "
            "column of predictions named as the label?)",
        )
        return values.astype(np.int64)
    if column.dtype.is_integer() and column.dtype != pl.UInt64:
        narrow = column.cast(pl.Int64, strict=False)
        refuse_where(
            narrow.is_null().to_numpy(),
            table,
            column,
            "which is no label: whole numbers must fit into 64 bits",
        )
        column = narrow
    if column.dtype.is_integer() or column.dtype in (pl.Boolean, pl.String):
        return np.array(column.to_list()) if column.dtype == pl.String else column.to_numpy()
    raise UserError(
        f'column "{column.name}" of {table.name} holds values of type {column.dtype}; labels are '
        "whole numbers, text or booleans."
    )


def typed(column: pl.Series) -> pl.Series:
    """Text of a CSV file as numbers or booleans where all of it is that."""
    text = column.str.strip_chars()
    number = text.cast(pl.Int64, strict=False)
    if not number.null_count():
        # 007 is a name and not the number 7: only numbers that are written back the same.
        return number if (number.cast(pl.String) == text).all() else column
    real = text.cast(pl.Float64, strict=False)
    if not real.null_count():
        return real
    lower = text.str.to_lowercase()
    if lower.is_in(["true", "false"]).all():
        return lower == "true"
    return column


def labels_of(
    table: Table,
    column: pl.Series,
    y: NDArray[Any],
    columns: tuple[str, ...],
    pos_label: str | None,
) -> list[Any]:
    """The classes in the order of the columns."""
    present: list[Any] = np.unique(y).tolist()
    if len(columns) == 1:
        return _two_labels(column.name, present, pos_label)
    if pos_label is not None:
        raise UserError("--pos-label is for a single column of predictions: leave it out.")
    named = named_labels(columns, present)
    if named is not None:
        return named
    if len(present) != len(columns):
        raise UserError(
            f'column "{column.name}" of {table.name} has {len(present)} labels '
            f"({listed([str(v) for v in present], 6)}), but there are {len(columns)} columns of "
            "predictions, and their names do not end with the labels: name one column for each "
            "class."
        )
    return present


def _two_labels(name: str, present: list[Any], pos_label: str | None) -> list[Any]:
    """The other and the predicted class of a single column of predictions."""
    zero_one = set(present) <= {0, 1} and not any(isinstance(v, str) for v in present)
    if pos_label is None:
        if zero_one:
            return [False, True] if isinstance(present[0], bool) else [0, 1]
        raise UserError(
            f'column "{name}" has the labels {listed([str(v) for v in present], 6)}: say with '
            "--pos-label which of them the column of predictions predicts."
            + (" More than two classes need a --prob for each." if len(present) > 2 else "")
        )
    if len(present) > 2:
        raise UserError(
            f'column "{name}" has {len(present)} labels ({listed([str(v) for v in present], 6)}), '
            "but there is a single column of predictions: pass a --prob for each class."
        )
    known = present
    if zero_one:
        known = [False, True] if isinstance(present[0], bool) else [0, 1]
    # True may be written true; but Yes and yes can be two labels.
    positive = [label for label in known if str(label) == pos_label]
    positive += [label for label in known if str(label).lower() == pos_label.lower()]
    if not positive:
        raise UserError(
            f'--pos-label {pos_label} is not among the labels of column "{name}": '
            f"{listed([str(v) for v in known], 6)}."
        )
    others = [label for label in known if label != positive[0]]
    if not others:
        raise UserError(
            f'column "{name}" has the single label {positive[0]}: nothing else happened, so '
            "there is nothing to compare the predictions with."
        )
    return [others[0], positive[0]]


def named_labels(columns: tuple[str, ...], present: list[Any]) -> list[Any] | None:
    """The labels that the columns are named after, with or without a common prefix."""
    by_name = {str(label): label for label in present}
    for start in range(min(map(len, columns))):
        if len({column[:start] for column in columns}) > 1:
            break
        endings = [column[start:] for column in columns]
        if set(by_name) <= set(endings):
            if isinstance(present[0], str):
                return endings
            typed = [_like(ending, present[0]) for ending in endings]
            return None if None in typed else typed
    return None


def _like(text: str, label: Any) -> Any:
    """The text as a label of the same type, None where it is none."""
    if isinstance(label, bool):
        return {"true": True, "false": False}.get(text.lower())
    return int(text) if re.fullmatch("-?[0-9]{1,18}", text) else None
