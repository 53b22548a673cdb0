"""Outcomes and class probabilities in the columns of a frame, with the rules that they obey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, or_
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.engines.source import LARGEST, Rule, Source, between
from calibrant.inputs import ROW_SUM_TOLERANCE
from calibrant.labels import as_classes, binary_target, labels_array

_SINGLE_TOLERANCE = 32 * float(np.finfo(np.float32).eps)
_LARGEST_PROB, _FIRST = "calibrant largest", "calibrant first"


@dataclass(frozen=True)
class FramePredictions:
    """What `calibrant.inputs.Predictions` is for arrays: expressions instead of values.

    Binary: `prob` holds the probability of ``classes[1]`` alone. Multiclass: one for each class.
    """

    source: Source
    prob: tuple[nw.Expr, ...]
    hits: tuple[nw.Expr, ...]
    """Whether what is predicted by each of `prob` happened."""
    weight: nw.Expr | None
    classes: NDArray[Any]
    rules: tuple[Rule, ...]
    eps: float
    """The spacing of the probabilities' type at 1."""

    @property
    def binary(self) -> bool:
        return len(self.classes) == 2

    def of_kind(self, kind: str) -> FramePredictions:
        """What is looked at for this kind: each class, or for "confidence" the top label alone."""
        if self.binary or kind != "confidence":
            return self
        # By way of columns, since Dask compares no largest values that are not in one.
        largest, first = nw.col(_LARGEST_PROB), nw.col(_FIRST)
        places = [
            nw.when(prob == largest).then(nw.lit(k)).otherwise(nw.lit(len(self.prob)))
            for k, prob in enumerate(self.prob)
        ]
        source = self.source.extended(_LARGEST_PROB, nw.max_horizontal(*self.prob))
        source = source.extended(_FIRST, nw.min_horizontal(*places))
        hit = reduce(or_, ((first == k) & happened for k, happened in enumerate(self.hits)))
        return replace(self, source=source, prob=(largest,), hits=(hit,))

    def where(self, condition: nw.Expr) -> FramePredictions:
        """The rows for which it is true."""
        return replace(self, source=self.source.where(condition))

    def each_group(self) -> dict[Any, FramePredictions]:
        """For each group its rows alone, no longer grouped; without groups the one key is ()."""
        if not self.source.by:
            return {(): self}
        found = self.source.aggregate({}, rules=self.rules)
        return {
            group: replace(self, source=self.source.only(group))
            for group in self.source.groups(found)
        }


def check_frame(
    frame: Any,
    *,
    y: str | None,
    prob: str | Sequence[str] | None,
    by: str | Sequence[str] | None,
    labels: Any,
    pos_label: Any,
    sample_weight: str | None,
) -> FramePredictions:
    """The columns of a frame as predictions; values are looked at when they are summed."""
    if y is None or prob is None:
        raise ValueError(
            "a frame needs y= and prob=, the names of its columns of outcomes and of probabilities."
        )
    if not isinstance(sample_weight, str | None):
        raise ValueError(
            "sample_weight must be the name of a column of frame, got "
            f"{type(sample_weight).__name__}."
        )
    vector = isinstance(prob, str)
    names = (prob,) if isinstance(prob, str) else tuple(prob)
    if not vector and len(names) < 2:
        raise ValueError(f"prob={list(names)!r}: name a single column as text, prob='p'.")
    weights = () if sample_weight is None else (sample_weight,)
    source = Source.of(frame, y, *names, *weights, by=by)
    columns = tuple(source.number(name, "prob") for name in names)
    outcome, classes, column = _outcome(source, y, names, labels, pos_label, vector)
    rules = [_probability_rule(*pair) for pair in zip(names, columns, strict=True)]
    single = any(source.schema[name] == nw.Float32 for name in names)
    if not vector:
        rules.append(_sum_rule(names, columns, _SINGLE_TOLERANCE if single else ROW_SUM_TOLERANCE))
    rules.append(_label_rule(y, outcome, source.schema[y], classes))
    weight = None
    if sample_weight is not None:
        weight = source.number(sample_weight, "sample_weight")
        rules.append(_weight_rule(sample_weight, weight))
    pairs = [(prob, _equals(outcome, label)) for prob, label in zip(columns, classes, strict=False)]
    if len(classes) == 2:
        pairs = [(columns[0 if vector else column], _equals(outcome, classes[1]))]
    kept, hits = zip(*pairs, strict=True)
    eps = float(np.finfo(np.float32 if single else np.float64).eps)
    return FramePredictions(source, kept, hits, weight, classes, tuple(rules), eps)


def check_weights(group: Any, total: float) -> None:
    """Raise ValueError if the weights of a group are all zero."""
    if not total > 0.0:
        where = "" if group == () else f" of the group {group!r}"
        raise ValueError(
            f"sample_weight is zero in every row{where}: at least one must be positive."
        )


def _outcome(
    source: Source, y: str, names: Sequence[str], labels: Any, pos_label: Any, vector: bool
) -> tuple[nw.Expr, NDArray[Any], int]:
    """The outcomes as an expression, the classes, and of two columns the positive one."""
    dtype = source.schema[y]
    numbers = dtype == nw.Boolean or dtype.is_numeric()
    if not numbers and dtype not in (nw.String, nw.Categorical, nw.Enum):
        raise ValueError(
            f"y is the column {y!r} of type {dtype}: labels are whole numbers, text or booleans."
        )
    if labels is not None:
        present = labels_array(labels, "labels")
    elif vector and numbers and pos_label is None:
        present = np.array([0, 1]).astype(bool if dtype == nw.Boolean else np.int64)
    else:
        present = present_labels(source, y)
    if (present.dtype.kind != "U") != numbers:
        raise ValueError(
            f"labels such as {present[0].item()!r} do not fit the column {y!r} of type {dtype}."
        )
    if len(names) <= 2:
        _, classes, column = binary_target(
            present, labels, pos_label, None if vector else tuple(names), vector=vector
        )
    else:
        if pos_label is not None:
            raise ValueError(
                f"pos_label={pos_label!r} is for two classes, but prob names {len(names)} "
                "columns: leave it out."
            )
        _, classes = as_classes(
            present, len(names), labels=labels, names=tuple(names), name="y_true"
        )
        column = 0
    return _comparable(y, dtype), classes, column


def present_labels(source: Source, y: str) -> NDArray[Any]:
    """The distinct labels of the column."""
    found = source.labels(y)
    if None in found:
        raise ValueError(f"frame[{y!r}] is missing in some rows: drop them or fill the label in.")
    whole = [int(v) if type(v).__name__ == "Decimal" and v == int(v) else v for v in found]
    return labels_array(np.array(whole), "y_true")


def _comparable(y: str, dtype: Any) -> nw.Expr:
    if dtype == nw.Boolean:
        return nw.col(y).cast(nw.Int64)
    if dtype in (nw.Categorical, nw.Enum):
        return nw.col(y).cast(nw.String)
    return nw.col(y).cast(nw.Float64) if dtype.is_decimal() else nw.col(y)


def _equals(outcome: nw.Expr, label: Any) -> nw.Expr:
    value = label.item()
    return outcome == (int(value) if isinstance(value, bool) else value)


def _is_label(outcome: nw.Expr, dtype: Any, classes: NDArray[Any]) -> nw.Expr:
    if dtype == nw.Boolean or dtype.is_integer():
        whole = sorted(map(int, classes.tolist()))
        if whole[-1] - whole[0] == len(whole) - 1:
            # Engines compare with two numbers faster than with each.
            return outcome.is_between(whole[0], whole[-1])
    return reduce(or_, (_equals(outcome, label) for label in classes))


def _probability_rule(name: str, prob: nw.Expr) -> Rule:
    return Rule(
        name,
        between(prob, 0.0, 1.0),
        "is no probability",
        "drop missing rows or fill them in; rescale percentages, or turn scores and logits into "
        "probabilities first",
    )


def _sum_rule(names: Sequence[str], columns: Sequence[nw.Expr], tolerance: float) -> Rule:
    total = reduce(add, columns)
    return Rule(
        ", ".join(names),
        between(total, 1.0 - tolerance, 1.0 + tolerance),
        f"do not sum to one within {tolerance:.2g}",
        "each row must hold the probabilities of all classes; renormalise the rows or add the "
        "missing class",
        shown=total,
    )


def _label_rule(y: str, outcome: nw.Expr, dtype: Any, classes: NDArray[Any]) -> Rule:
    known = _is_label(outcome, dtype, classes)
    return Rule(
        y,
        known & ~outcome.is_null(),
        f"is not among the labels {_shown(classes)}",
        "correct it or drop the row, or pass labels= that name every class",
    )


def _weight_rule(name: str, weight: nw.Expr) -> Rule:
    return Rule(
        name,
        between(weight, 0.0, LARGEST),
        "is no weight",
        "weights are finite and not negative; correct it or drop the row",
    )


def _shown(classes: NDArray[Any]) -> str:
    values = classes.tolist()
    more = ", ..." if len(values) > 6 else ""
    return "[" + ", ".join(map(repr, values[:6])) + more + "]"
