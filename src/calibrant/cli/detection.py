"""Columns that no option names, taken where a file can be read in one way only.

The values decide, and no name does: predictions are numbers in [0, 1] that are not only 0 and 1,
labels are the only other column with as many different values as there are classes.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from calibrant.cli.errors import UserError, listed
from calibrant.cli.labels import named_labels, typed
from calibrant.cli.predictions import ROUNDING, Scale, named_predictions, row_sum_tolerance
from calibrant.cli.tables import Table

_ASK_PREDICTIONS = "name predictions with --prob (once for each class) or --prob-prefix"
_AND_LABEL = "and what happened with --label"

# Approximate counts of few values are nearly exact; exact ones of many would fill the memory.
_MARGIN = 16


class Columns(NamedTuple):
    """The columns of a file, and as options those that no option named."""

    label: str
    predictions: tuple[str, ...]
    taken: str


class _Summary(NamedTuple):
    """What the values of a column are."""

    predictions: bool
    missing: bool
    n_different: int
    """Approximately, and missing ones count as one."""


def find_columns(
    table: Table,
    label: str | None,
    names: Sequence[str],
    prefix: str | None,
    *,
    others: Sequence[str | None],
    scale: Scale,
    normalize: bool,
) -> Columns:
    """The columns of labels and predictions; `others` are taken by other options."""
    predictions = named_predictions(table, names, prefix)
    if label is not None and predictions:
        return Columns(label, predictions, "")
    ask = _ASK_PREDICTIONS if label else f"{_ASK_PREDICTIONS}, {_AND_LABEL}"
    if not predictions:
        _check_scale(scale, ask)
    for name in filter(None, [label, *others]):
        table.require([name])
    summaries = _summaries(table, {*predictions, *others} - {label})
    given = None if label is None else summaries.pop(label, None)
    taken = ""
    if not predictions:
        predictions = _find_predictions(table, summaries, normalize, ask)
        taken = _as_options("--prob", predictions)
    n_classes = max(2, len(predictions))
    if label is None:
        rest = {name: one for name, one in summaries.items() if name not in predictions}
        label, labels = _find_label(table, rest, predictions, n_classes)
        taken = f"{_as_options('--label', [label])} {taken}".rstrip()
    elif given is None:
        return Columns(label, predictions, taken)  # no labels: reading them says so
    else:
        labels = _given_labels(table, label, given, predictions, n_classes)
    _check_names(table, predictions, labels, f'column "{label}"', ask)
    return Columns(label, predictions, taken)


def find_predictions(
    table: Table,
    names: Sequence[str],
    prefix: str | None,
    *,
    classes: list[Any],
    scale: Scale,
    normalize: bool,
) -> tuple[tuple[str, ...], str]:
    """The columns of predictions of some classes, and as options if no option named them."""
    predictions = named_predictions(table, names, prefix)
    if predictions:
        return predictions, ""
    _check_scale(scale, _ASK_PREDICTIONS)
    summaries = _summaries(table, set())
    predictions = _find_predictions(table, summaries, normalize, _ASK_PREDICTIONS)
    _check_names(table, predictions, classes, "the calibrator", _ASK_PREDICTIONS)
    return predictions, _as_options("--prob", predictions)


def _check_scale(scale: Scale, ask: str) -> None:
    if scale == "logit":
        raise UserError(f"columns of logits are not recognised by their values; {ask}.")


def _find_predictions(
    table: Table, summaries: dict[str, _Summary], normalize: bool, ask: str
) -> tuple[str, ...]:
    found = {name: one for name, one in summaries.items() if one.predictions}
    if not found:
        raise UserError(
            f"no column of {table.name} holds what can only be predictions (numbers in [0, 1], "
            f"not only 0 and 1); {ask}. The columns: {listed([*table.columns])}."
        )
    if any(one.missing for one in found.values()):
        raise UserError(f"{_which(table, found, 'may hold predictions')}; {ask}.")
    if len(found) > 1:
        _check_sums(table, found, normalize, ask)
    return tuple(found)


def _find_label(
    table: Table, summaries: dict[str, _Summary], predictions: tuple[str, ...], n_classes: int
) -> tuple[str, list[Any]]:
    few = [name for name, one in summaries.items() if _are_few(one, n_classes)]
    known = _labels(table, few) if few else {}
    found = {
        name: summaries[name]
        for name, labels in known.items()
        if len(labels) == n_classes and isinstance(labels[0], int | str)
    }
    if not found:
        raise UserError(
            f"{_predicting(predictions)}, but no other column of {table.name} holds {n_classes} "
            "different labels (whole numbers, booleans or text); name what happened with --label. "
            f"The columns: {listed([*table.columns])}."
        )
    if len(found) > 1 or any(one.missing for one in found.values()):
        what = f"may hold the labels of {n_classes} classes"
        raise UserError(f"{_which(table, found, what)}; name what happened with --label.")
    (label,) = found
    return label, known[label]


def _given_labels(
    table: Table, label: str, given: _Summary, predictions: tuple[str, ...], n_classes: int
) -> list[Any]:
    """The labels of a column that was named, as many as there are classes."""
    labels = _labels(table, [label])[label] if _are_few(given, n_classes) else []
    if len(labels) != n_classes:
        n_different = len(labels) or f"about {given.n_different}"
        raise UserError(
            f'{_predicting(predictions)}, but the number of labels in column "{label}" of '
            f"{table.name} is {n_different}; {_ASK_PREDICTIONS}."
        )
    return [int(one) if isinstance(one, float) and one.is_integer() else one for one in labels]


def _check_names(
    table: Table, predictions: tuple[str, ...], labels: list[Any], whose: str, ask: str
) -> None:
    """Raise UserError unless columns of several classes are named after them."""
    if len(predictions) == 1:
        return
    if named_labels(predictions, labels) is None:
        raise UserError(
            f"the names of {listed([*predictions], 6)} in {table.name} do not end with the labels "
            f"of {whose} ({listed([str(one) for one in labels], 6)}), so that it is not clear "
            f"which column is for which class; {ask}."
        )


def _summaries(table: Table, named: set[str | None]) -> dict[str, _Summary]:
    """What aggregates over all rows say of the columns that are not named."""
    schema = table.lazy.collect_schema()
    rest = {name: k for k, name in enumerate(table.columns) if name not in named}
    wanted = {name: _aggregates(name, schema[name]) for name in rest}
    found = table.aggregate(
        [one.alias(f"{rest[name]}.{k}") for name in rest for k, one in enumerate(wanted[name])]
    )
    return {
        name: _Summary(*(found[f"{k}.{part}"][0] for part in range(3)))
        for name, k in rest.items()
        if wanted[name]
    }


def _aggregates(name: str, dtype: pl.DataType) -> tuple[pl.Expr, ...]:
    """The parts of a `_Summary`; none for what is neither predictions nor labels."""
    values = _plain(name, dtype)
    if dtype.is_integer() or dtype == pl.Boolean:
        return pl.lit(False), values.is_null().any(), values.approx_n_unique()
    if not (_is_text(dtype) or dtype.is_float() or dtype.is_decimal()):
        return ()
    number = values.cast(pl.Float64, strict=False)
    missing = number.is_nan().fill_null(False) | values.is_null()
    if _is_text(dtype):
        missing |= values == ""
    predictions = (missing | number.is_between(0, 1)).fill_null(False).all()
    # Numbers that are only 0 and 1 are labels.
    predictions &= number.is_between(0, 1, closed="none").any()
    return predictions, missing.any(), values.approx_n_unique()


def _labels(table: Table, names: Sequence[str]) -> dict[str, list[Any]]:
    """The labels in some columns, as they are read."""
    schema = table.lazy.collect_schema()
    columns = [_column(name, schema[name]) for name in names]
    found = table.aggregate([column.unique().implode() for column in columns])
    return {name: _as_labels(found[name][0]) for name in names}


def _as_labels(values: pl.Series) -> list[Any]:
    values = values.drop_nulls()
    if values.dtype == pl.String:
        values = typed(values.filter(values.str.strip_chars() != ""))
    return values.unique().sort().to_list()


def _check_sums(table: Table, found: dict[str, _Summary], normalize: bool, ask: str) -> None:
    """Raise UserError unless the columns sum to one in every row."""
    names = [*found]
    schema = table.lazy.collect_schema()
    numbers = [_plain(name, schema[name]).cast(pl.Float64) for name in names]
    off = (pl.sum_horizontal(numbers) - 1).abs().max()
    single = all(schema[name] == pl.Float32 for name in names)
    tolerance = row_sum_tolerance(np.float32 if single else np.float64)
    error = table.aggregate([off.alias("off")])["off"][0]
    if error <= (ROUNDING if normalize else tolerance):
        return
    rounded = "if they were rounded, pass --normalize; if not, " if error <= ROUNDING else ""
    raise UserError(
        f"{_which(table, found, 'may hold predictions')}, and they do not sum to one in every "
        f"row, as those of classes do; {rounded}{ask}."
    )


def _plain(name: str, dtype: pl.DataType) -> pl.Expr:
    """The values of a column; of text without blanks around it."""
    column = _column(name, dtype)
    return column.str.strip_chars() if _is_text(dtype) else column


def _column(name: str, dtype: pl.DataType) -> pl.Expr:
    column = cs.by_name(name).as_expr()  # to pl.col, some names are patterns
    return column.cast(pl.String) if _is_text(dtype) else column


def _is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def _which(table: Table, found: dict[str, _Summary], what: str) -> str:
    """The candidates, in words."""
    names = [f"{name} (empty in some rows)" if one.missing else name for name, one in found.items()]
    if len(found) == 1:
        return f"column {names[0]} of {table.name} {what}, but nothing is guessed from it"
    return f"{len(found)} columns of {table.name} {what}: {listed(names)}"


def _predicting(predictions: tuple[str, ...]) -> str:
    """What is predicted, in words."""
    if len(predictions) == 1:
        return f'column "{predictions[0]}" is taken for predictions of 2 classes'
    return f"{listed([*predictions], 6)} are taken for predictions of {len(predictions)} classes"


def _are_few(one: _Summary, n_classes: int) -> bool:
    return one.n_different <= 2 * n_classes + _MARGIN


def _as_options(option: str, names: Sequence[str]) -> str:
    return " ".join(f"{option} {shlex.quote(name)}" for name in names)
