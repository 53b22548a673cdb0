"""The column of labels -> what happened, and which classes the predictions are for."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from calibrant.cli.errors import UserError, did_you_mean, listed
from calibrant.cli.tables import Table
from calibrant.cli.values import numbers, refuse_where


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
    boolean = isinstance(known[0], bool)
    asked = pos_label.capitalize() if boolean else pos_label
    positive = [label for label in known if str(label) == asked]
    if not positive:
        names = [str(label) for label in known]
        raise UserError(
            f'--pos-label {pos_label} is not among the labels of column "{name}": '
            f"{listed(names, 6)}.{did_you_mean(pos_label, names)}"
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
