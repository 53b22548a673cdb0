"""The map of each fitted calibrator as a formula."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calibrant.calibrators import (
    BetaCalibration,
    CrossValidated,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.calibrators.base import BinaryCalibrator, Calibrator
from calibrant.calibrators.cross_validated import without_folds
from calibrant.engines.expressions import (
    Clip,
    Column,
    Function,
    Node,
    Number,
    Shared,
    Steps,
    Within,
    expit,
    ln,
    softmax,
    total,
)
from calibrant.engines.source import LARGEST
from calibrant.selection import AutoCalibration
from calibrant.selection.candidates import taken_scale

_EPS = float(np.finfo(np.float64).eps)
_SMALLEST = float(np.finfo(np.float64).tiny)
_LARGEST_LOGIT = 1e300
# Rows of probabilities in single precision may be that far from one.
_ROW_SUM_TOLERANCE = 32 * float(np.finfo(np.float32).eps)


def calibrated(calibrator: Calibrator, prob: str | Sequence[str]) -> list[Node]:
    """What `predict_proba` gives for each row of the columns; NULL where it would refuse the row.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the calibrator is not fitted.
    ValueError
        If the columns do not fit it, or its map cannot be written as a formula.
    """
    check_is_fitted(calibrator)
    names = [prob] if isinstance(prob, str) else list(prob)
    shape = (0,) if isinstance(prob, str) else (0, len(names))
    calibrator._check_columns(np.empty(shape), None if isinstance(prob, str) else tuple(names))
    columns: list[Node] = [Column(name) for name in names]
    tests = _tests(calibrator, columns)
    return [Within(tests, value) for value in formula(calibrator, columns)]


def _tests(calibrator: Calibrator, columns: list[Node]) -> tuple[tuple[Node, float, float], ...]:
    """What is true of rows that `predict_proba` accepts."""
    scale = calibrator._scale
    while isinstance(calibrator, CrossValidated):
        calibrator = calibrator.calibrator_
        scale = calibrator._scale
    if isinstance(calibrator, BinaryCalibrator) and len(columns) == 2:
        scale = "probability"
    # DuckDB does not see nan by comparing with both bounds, see `source.between`.
    numbers = tuple((column - column, 0.0, 0.0) for column in columns)
    if scale == "score":
        return (*numbers, *((column, -LARGEST, LARGEST) for column in columns))
    tests = (*numbers, *((column, 0.0, 1.0) for column in columns))
    if scale == "column" or len(columns) == 1:
        return tests
    excess = Function("abs", total(columns) - 1.0)
    return (*tests, (excess, 0.0, _ROW_SUM_TOLERANCE))


@singledispatch
def formula(calibrator: Calibrator, columns: list[Node]) -> list[Node]:
    """A prediction for each column, as `predict_proba` makes it."""
    raise ValueError(
        f"the map of {type(calibrator).__name__} is not known as a formula: collect the "
        "columns and call predict_proba."
    )


@formula.register
def _(calibrator: CrossValidated, columns: list[Node]) -> list[Node]:
    return formula(calibrator.calibrator_, columns)


@formula.register
def _(calibrator: PlattScaling, columns: list[Node]) -> list[Node]:
    odds = columns[-1] * calibrator.slope_ + calibrator.intercept_
    return _restored(expit(odds), columns)


@formula.register
def _(calibrator: BetaCalibration, columns: list[Node]) -> list[Node]:
    prob = Clip(columns[-1], calibrator.eps, 1.0 - calibrator.eps)
    odds = ln(prob) * calibrator.a_ - ln(1.0 - prob) * calibrator.b_ + calibrator.c_
    return _restored(expit(odds), columns)


@formula.register
def _(calibrator: HistogramBinning, columns: list[Node]) -> list[Node]:
    steps = Steps.constant(columns[-1], calibrator.bin_edges_[1:-1], calibrator.bin_values_)
    return _restored(steps, columns)


@formula.register
def _(calibrator: IsotonicCalibration, columns: list[Node]) -> list[Node]:
    knots, values = calibrator.X_thresholds_, calibrator.y_thresholds_
    tops = np.append(values, values[-1])
    steps = Steps(
        columns[-1],
        cuts=knots,
        starts=np.insert(knots, 0, 0.0),
        values=np.insert(values, 0, values[0]),
        widths=np.concatenate([[1.0], np.diff(knots), [1.0]]),
        rises=np.concatenate([[0.0], np.diff(values), [0.0]]),
        tops=tops,
    )
    return _restored(steps, columns)


@formula.register
def _(calibrator: TemperatureScaling, columns: list[Node]) -> list[Node]:
    temperature = calibrator.temperature_
    logits = _logits(columns, calibrator.input)
    if len(logits) > 2:
        return softmax(logits, 1.0 / temperature)
    odds = logits[0] if len(logits) == 1 else logits[1] - logits[0]
    return _restored(expit(odds / temperature), columns)


@formula.register
def _(calibrator: VectorScaling, columns: list[Node]) -> list[Node]:
    logits = _logits(columns, calibrator.input)
    scale, bias = calibrator.scale_.tolist(), calibrator.bias_.tolist()
    return softmax(
        Clip(z * s + b, -_LARGEST_LOGIT, _LARGEST_LOGIT)
        for z, s, b in zip(logits, scale, bias, strict=True)
    )


@formula.register
def _(calibrator: DirichletCalibration, columns: list[Node]) -> list[Node]:
    eps = calibrator.eps
    logs = Shared(tuple(ln(Clip(column, eps, 1.0 - eps)) for column in columns))
    rows = zip(calibrator.weight_.tolist(), calibrator.bias_.tolist(), strict=True)
    return softmax(
        total([*(logs[j] * w for j, w in enumerate(weights)), Number(bias)])
        for weights, bias in rows
    )


@formula.register
def _(calibrator: OneVsRest, columns: list[Node]) -> list[Node]:
    pairs = zip(calibrator.calibrators_, columns, strict=True)
    values = Shared(tuple(formula(inner, [column])[0] for inner, column in pairs))
    n_classes = len(values)
    parts = [values[k] for k in range(n_classes)]
    whole = Shared((total(parts),))[0]
    uniform = Number(1.0 / n_classes)
    return [Within(((whole, _SMALLEST, LARGEST),), part / whole, uniform) for part in parts]


@formula.register
def _(calibrator: AutoCalibration, columns: list[Node]) -> list[Node]:
    inner = calibrator.calibrator_
    if inner is None:
        return columns if calibrator.input == "probability" else _probabilities(columns)
    taken = taken_scale(inner)
    if calibrator.input == "probability" and taken == "logit":
        # As a softmax takes them; one-vs-rest takes the log-odds of each column.
        apart = len(columns) == 1 or isinstance(without_folds(inner), OneVsRest)
        fed = [_log_odds(p) for p in columns] if apart else _logits(columns, "probability")
    elif calibrator.input == "logit" and taken == "probability":
        fed = list(_shared(_probabilities(columns)))
    elif calibrator.input == "logit" and len(columns) == 2 and inner.n_features_in_ == 1:
        fed = [columns[1] - columns[0]]
    else:
        fed = columns
    values = formula(inner, fed)
    return _restored(values[0], columns) if len(values) < len(columns) else values


def _restored(prob: Node, columns: list[Node]) -> list[Node]:
    """The prediction in as many columns as were given."""
    if len(columns) == 1:
        return [prob]
    shared = Shared((prob,))
    return [1.0 - shared[0], shared[0]]


def _logits(columns: list[Node], input: str) -> list[Node]:
    if input == "logit":
        return columns
    if len(columns) == 1:
        return [_log_odds(columns[0])]
    return [ln(Clip(column, _EPS, 1.0)) for column in columns]


def _log_odds(prob: Node) -> Node:
    clipped = Clip(prob, _EPS, 1.0 - _EPS)
    return ln(clipped) - ln(1.0 - clipped)


def _probabilities(logits: list[Node]) -> list[Node]:
    return [expit(logits[0])] if len(logits) == 1 else softmax(logits)


def _shared(nodes: list[Node]) -> list[Node]:
    shared = Shared(tuple(nodes))
    return [shared[k] for k in range(len(shared))]
