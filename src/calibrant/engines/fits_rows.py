"""The rows of a frame that a calibrator is fitted on: checked, and described by one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import Calibrator
from calibrant.engines.predictions import (
    FramePredictions,
    check_frame,
    check_weights,
    present_labels,
)
from calibrant.engines.source import CELL, LARGEST, ROWS, Rule, Source, between, collected
from calibrant.inputs import as_classes

Floats = NDArray[np.float64]

CODE, WEIGHT, SHARE = "code", "weight", "share of the heaviest"
_SCORE = "score {}"
_FIRST, _LAST = "calibrant smallest score", "calibrant largest score"


@dataclass(frozen=True)
class TrainingRows:
    """Scores, classes and weights as expressions of a lazy frame, and what one pass tells of them.

    Attributes
    ----------
    frame : narwhals.LazyFrame
        The rows of positive weight, with the columns of `scores`, `CODE` (the class's number) and,
        where there are weights, `WEIGHT` and `SHARE`.
    predictions : FramePredictions
        The frame as it was given.
    scores : tuple of narwhals.Expr
        One, or one for each class.
    classes : ndarray of shape (K,)
    counts, totals : ndarray of shape (K,)
        Rows of each class, and their relative weight.
    heaviest : float
        The largest weight, of which the others are a share.
    lows, highs : ndarray, an entry for each score
    spread : float
        The largest difference between two scores of a row; the largest size of single scores.
    excess : float
        How far from one the scores of a row sum at most.
    """

    frame: nw.LazyFrame[Any]
    predictions: FramePredictions
    scores: tuple[nw.Expr, ...]
    classes: NDArray[Any]
    counts: Floats
    totals: Floats
    heaviest: float
    lows: Floats
    highs: Floats
    spread: float
    excess: float

    @property
    def total(self) -> float:
        """The relative weight of all rows."""
        return float(self.totals.sum())

    @property
    def weight(self) -> nw.Expr:
        """The weight of a row, as a share of the heaviest one; one where there are none."""
        return nw.lit(1.0) if self.predictions.weight is None else nw.col(SHARE)

    def hit(self, k: int) -> nw.Expr:
        """Whether a row is of class `k`."""
        return nw.col(CODE) == k

    def of_second(self) -> TrainingRows:
        """The rows with the score of the second class alone."""
        return replace(self, scores=self.scores[-1:], lows=self.lows[-1:], highs=self.highs[-1:])

    def one_against_rest(self, k: int) -> TrainingRows:
        """The rows with the score of class `k` alone, and whether it is this class."""
        two = [np.array([sums.sum() - sums[k], sums[k]]) for sums in (self.counts, self.totals)]
        code = self.hit(k).cast(nw.Int64).alias(CODE)
        return replace(
            self,
            frame=self.frame.with_columns(code),
            scores=self.scores[k : k + 1],
            classes=np.array([False, True]),
            counts=two[0],
            totals=two[1],
            lows=self.lows[k : k + 1],
            highs=self.highs[k : k + 1],
            spread=float(max(abs(self.lows[k]), abs(self.highs[k]))),
        )


def sums(frame: nw.LazyFrame[Any], values: Mapping[str, nw.Expr]) -> dict[str, float]:
    """Sums over all rows, in one pass."""
    found = arrays_of(frame.select(*(value.sum().alias(name) for name, value in values.items())))
    return {name: float(found[name][0]) for name in values}


def arrays_of(frame: nw.LazyFrame[Any]) -> dict[str, NDArray[Any]]:
    """The columns of a frame as arrays."""
    result = collected(frame)
    return {name: result[name].to_numpy() for name in result.columns}


def training_rows(
    calibrator: Calibrator,
    frame: Any,
    y: str,
    prob: str | Sequence[str],
    sample_weight: str | None,
    labels: Any,
    pos_label: Any,
) -> TrainingRows:
    """Check the rows as `fit` does, in one pass, after one for the labels that are not given."""
    names = (prob,) if isinstance(prob, str) else tuple(prob)
    weights = () if sample_weight is None else (sample_weight,)
    source = Source.of(frame, y, *names, *weights)
    if labels is None:
        labels = _labels(source, y, prob, pos_label)
    elif pos_label is not None:
        raise ValueError("give labels= or pos_label=, not both.")
    data = check_frame(
        frame, y=y, prob=prob, by=None, labels=labels, pos_label=None, sample_weight=sample_weight
    )
    scores = [source.number(name, "prob") for name in names]
    data = replace(data, rules=tuple(_rules(calibrator, data, names, scores)))
    rows = _described(data, scores)
    calibrator._check_classes(np.flatnonzero(rows.counts), rows.classes)
    return rows


def _labels(source: Source, y: str, prob: str | Sequence[str], pos_label: Any) -> NDArray[Any]:
    """The classes that are there, in the order of the columns."""
    present = present_labels(source, y)
    names = None if isinstance(prob, str) else tuple(prob)
    n_columns = 2 if names is None else len(names)
    _, classes = as_classes(present, n_columns, names=names, name="y")
    if pos_label is None:
        return classes
    matches = classes == pos_label
    if n_columns != 2 or not matches.any():
        raise ValueError(
            f"pos_label={pos_label!r} must be one of two labels, but they are {classes.tolist()}."
        )
    return np.concatenate([classes[~matches], classes[matches]])


def _rules(
    calibrator: Calibrator, data: FramePredictions, names: tuple[str, ...], scores: list[nw.Expr]
) -> Iterator[Rule]:
    """What good rows fulfil: scores need not be probabilities, columns need not sum to one."""
    scale = calibrator._scale
    if scale == "score":
        for name, score in zip(names, scores, strict=True):
            yield Rule(
                name,
                between(score, -LARGEST, LARGEST),
                "is no score",
                "scores are finite; drop the row or fill the value in",
            )
    together = ", ".join(names)
    for rule in data.rules:
        of_scores = rule.column in names or rule.column == together
        if not of_scores or scale == "probability" or (scale == "column" and rule.shown is None):
            yield rule


def _described(data: FramePredictions, scores: list[nw.Expr]) -> TrainingRows:
    """One pass: the rules, the weight of each class, the range of each score."""
    n_classes = len(data.classes)
    weight = nw.lit(1.0) if data.weight is None else data.weight
    there = weight > 0.0
    first = n_classes - len(data.hits)  # of two classes, only the second one is looked at
    code = reduce(add, (hit.cast(nw.Int64) * k for k, hit in enumerate(data.hits, start=first)))
    source = data.source
    spread = scores[0].abs()
    if len(scores) > 1:
        # Dask takes these in columns of their own only.
        ends = nw.max_horizontal(*scores).alias(_LAST), nw.min_horizontal(*scores).alias(_FIRST)
        source = replace(source, rows=source.rows.with_columns(*ends))
        spread = nw.col(_LAST) - nw.col(_FIRST)
    excess = (reduce(add, scores) - 1.0).abs()
    names = [_SCORE.format(k) for k in range(len(scores))]
    low = {f"low {k}": nw.when(there).then(score) for k, score in enumerate(scores)}
    high = {f"high {k}": nw.when(there).then(score) for k, score in enumerate(scores)}
    tops = {"weight": weight, "spread": nw.when(there).then(spread), "excess": excess}
    found = source.aggregate(
        {"total": weight, "there": there.cast(nw.Int64)},
        lowest=low,
        highest=high | {f"top {name}": value for name, value in tops.items()},
        cell=code,
        rules=data.rules,
    )
    heaviest = float(found["top weight"].max())
    check_weights((), heaviest)
    counts, totals = np.zeros(n_classes), np.zeros(n_classes)
    counts[found[CELL]] = found[ROWS] if data.weight is None else found["there"]
    totals[found[CELL]] = found["total"] / heaviest
    columns = dict(zip(names, scores, strict=True))
    rows = data.source.rows
    if data.weight is not None:
        rows = rows.filter(there)
        columns |= {WEIGHT: weight, SHARE: weight / heaviest}
    columns[CODE] = code
    return TrainingRows(
        frame=rows.select(*(value.alias(name) for name, value in columns.items())),
        predictions=data,
        scores=tuple(map(nw.col, names)),
        classes=data.classes,
        counts=counts,
        totals=totals,
        heaviest=heaviest,
        lows=_extremes(found, low, np.nanmin),
        highs=_extremes(found, high, np.nanmax),
        spread=float(np.nanmax(found["top spread"])),
        excess=float(np.nanmax(found["top excess"])),
    )


def _extremes(
    found: Mapping[str, Floats], names: Mapping[str, Any], extreme: Callable[[Floats], Any]
) -> Floats:
    """Over all classes; one whose rows have no weight has none."""
    return np.array([float(extreme(found[name].astype(np.float64))) for name in names])
