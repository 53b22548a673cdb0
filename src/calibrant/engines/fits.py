"""Calibrators fitted where the data lives, by aggregations alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from calibrant.binning import bin_edges
from calibrant.calibrators import (
    BetaCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.calibrators.base import BinaryCalibrator, Calibrator
from calibrant.calibrators.logistic_fit import LogisticFit
from calibrant.calibrators.logits import read_logits
from calibrant.calibrators.softmax_newton import exact_direction, minimise
from calibrant.engines.fits_logistic import binary_temperature, fit_logistic, temperature
from calibrant.engines.fits_rows import WEIGHT, TrainingRows, arrays_of, training_rows
from calibrant.engines.fits_softmax import VectorObjective
from calibrant.engines.pooling import pooled
from calibrant.engines.quantiles import quantile_edges
from calibrant.engines.tables import bin_of, counted_bin
from calibrant.inputs import ROW_SUM_TOLERANCE

Floats = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)


def fit_calibrator(
    calibrator: Calibrator,
    frame: Any,
    y: str,
    prob: str | Sequence[str],
    sample_weight: str | None,
    labels: Any,
    pos_label: Any,
) -> None:
    """Fit as `calibrator.fit` does, to columns of the frame."""
    calibrator._check_parameters()
    if fit_rows.dispatch(type(calibrator)) is fit_rows.dispatch(object):
        raise ValueError(
            f"{type(calibrator).__name__} cannot be fitted by sums: collect the columns and call "
            "fit."
        )
    n_columns = 1 if isinstance(prob, str) else len(prob)
    # Refuses the wrong number of columns.
    calibrator._native(np.full((1,) if n_columns == 1 else (1, n_columns), 1.0 / n_columns))
    rows = training_rows(calibrator, frame, y, prob, sample_weight, labels, pos_label)
    if isinstance(calibrator, BinaryCalibrator):
        rows = rows.of_second()
    fit_rows(calibrator, rows)
    calibrator.classes_ = rows.classes
    calibrator.n_features_in_ = n_columns


@singledispatch
def fit_rows(calibrator: Calibrator, rows: TrainingRows) -> None:
    """Set what a fit sets, but for the classes and the number of columns."""
    raise NotImplementedError


@fit_rows.register
def _(calibrator: PlattScaling, rows: TrainingRows) -> None:
    with np.errstate(over="ignore"):  # infinitely many rows correct the targets by nothing
        n_negative, n_positive = rows.totals * rows.heaviest
    correction = (float(1.0 / (n_negative + 2.0)), float(1.0 / (n_positive + 2.0)))
    calibrator._keep(fit_logistic(rows, rows.scores, rows.lows, rows.highs, correction), correction)


@fit_rows.register
def _(calibrator: BetaCalibration, rows: TrainingRows) -> None:
    eps = calibrator.eps
    clipped = rows.scores[0].clip(eps, 1.0 - eps)
    features = clipped.log(), -(1.0 - clipped).log()
    ends = np.clip([rows.lows[0], rows.highs[0]], eps, 1.0 - eps)
    lows, highs = np.column_stack([np.log(ends), -np.log1p(-ends)])

    def fit_with(*used: int) -> LogisticFit:
        chosen = list(used)
        fit = fit_logistic(rows, [features[i] for i in used], lows[chosen], highs[chosen])
        slopes = np.zeros(2)
        slopes[chosen] = fit.slopes
        return replace(fit, slopes=slopes)

    calibrator._choose(fit_with, float(rows.lows[0]), float(rows.highs[0]))


@fit_rows.register
def _(calibrator: HistogramBinning, rows: TrainingRows) -> None:
    if calibrator.strategy == "uniform":
        edges = bin_edges(np.empty(0), calibrator.n_bins, "uniform")
    else:
        edges = _quantile_edges(rows, calibrator.n_bins)
    weight = nw.lit(1.0) if rows.predictions.weight is None else nw.col(WEIGHT)
    event = nw.when(rows.hit(1)).then(weight).otherwise(nw.lit(0.0))
    columns = {"bin": bin_of(rows.scores[0], edges), "total": weight, "events": event}
    cells = rows.frame.select(*(value.alias(name) for name, value in columns.items()))
    sums = (nw.col("total").sum(), nw.col("events").sum())
    found = arrays_of(cells.group_by("bin").agg(*sums))
    in_bin = np.zeros((2, len(edges) - 1))
    places = counted_bin(found["bin"].astype(np.intp), edges)
    np.add.at(in_bin[0], places, found["total"])
    np.add.at(in_bin[1], places, found["events"])
    whole = rows.predictions.weight is None
    calibrator._fill(edges, in_bin[0].astype(np.intp) if whole else in_bin[0], in_bin[1])


@fit_rows.register
def _(calibrator: IsotonicCalibration, rows: TrainingRows) -> None:
    calibrator._keep(pooled(rows))


@fit_rows.register
def _(calibrator: TemperatureScaling, rows: TrainingRows) -> None:
    logits, lows, highs = _logits(calibrator.input, rows)
    if len(logits) == 1:
        flat = not np.any([lows, highs])
        objective = binary_temperature(rows, logits[0])
    else:
        flat = rows.spread == 0.0
        two = len(logits) == 2
        objective = (
            binary_temperature(rows, logits[1] - logits[0]) if two else temperature(rows, logits)
        )
    calibrator._optimise(objective, flat)


@fit_rows.register
def _(calibrator: VectorScaling, rows: TrainingRows) -> None:
    logits, lows, highs = _logits(calibrator.input, rows)
    calibrator._warn_constant(np.stack([lows, highs]))
    middle = lows + (highs - lows) / 2.0
    spread = (highs - lows) / 2.0
    spread[spread == 0.0] = 1.0
    values = [
        (logit - m) / s
        for logit, m, s in zip(logits, middle.tolist(), spread.tolist(), strict=True)
    ]
    objective = VectorObjective(rows, values, (lows - middle) / spread, (highs - middle) / spread)
    start = np.column_stack([spread, middle])
    optimum = minimise(objective, start, exact_direction(objective))
    calibrator._keep(optimum, middle, spread)


@fit_rows.register
def _(calibrator: OneVsRest, rows: TrainingRows) -> None:
    calibrator.calibrators_ = []
    for k in range(len(rows.classes)):
        inner, own = clone(calibrator.base), rows.one_against_rest(k)
        fit_rows(inner, own)
        inner.classes_, inner.n_features_in_ = own.classes, 1
        calibrator.calibrators_.append(inner)


def _quantile_edges(rows: TrainingRows, n_bins: int) -> Floats:
    source = replace(rows.predictions.source, rows=rows.frame)
    weight = None if rows.predictions.weight is None else nw.col(WEIGHT)
    data = replace(rows.predictions, source=source, weight=weight, rules=())
    try:
        return quantile_edges(data, rows.scores[0], n_bins)
    except ValueError as error:
        raise ValueError(
            "strategy='quantile' needs weights that are whole numbers, where a frame is not "
            "collected: use strategy='uniform', or collect the columns and call fit."
        ) from error


def _logits(input: str, rows: TrainingRows) -> tuple[list[nw.Expr], Any, Any]:
    """Logits, and their ranges; warns as `read_logits` does."""
    low, high, single = rows.lows, rows.highs, len(rows.scores) == 1
    if input == "logit":
        if single:
            read_logits(np.array([low[0], high[0]]), input)
        elif low.min() >= 0.0 and high.max() <= 1.0 and rows.excess <= ROW_SUM_TOLERANCE:
            read_logits(np.eye(len(low)), input)
        return list(rows.scores), low, high
    if single:
        ends = read_logits(np.array([low[0], high[0]]), input)
        clipped = rows.scores[0].clip(_EPS, 1.0 - _EPS)
        return [clipped.log() - (1.0 - clipped).log()], ends[:1], ends[1:]
    low, high = (np.log(np.maximum(ends, _EPS)) for ends in (low, high))
    return [score.clip(_EPS, 1.0).log() for score in rows.scores], low, high
