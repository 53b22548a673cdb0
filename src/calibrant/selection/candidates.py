"""Which calibrators are compared, on what scale each is fed, and which of two is the simpler."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant import inputs
from calibrant.calibrators import (
    BetaCalibration,
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
from calibrant.transforms import inv_logit, logit, softmax

Input = Literal["probability", "logit"]
Taken = Literal["probability", "logit", "any"]

UNCALIBRATED = "uncalibrated"

_EPS = float(np.finfo(np.float64).eps)

_ROWS_PER_PARAMETER = 10

# From the simplest to the most flexible.
_METHODS: dict[type[Calibrator], str] = {
    TemperatureScaling: "temperature",
    PlattScaling: "platt",
    VectorScaling: "vector",
    BetaCalibration: "beta",
    HistogramBinning: "histogram",
    IsotonicCalibration: "isotonic",
    DirichletCalibration: "dirichlet",
}


def default_calibrators(n_classes: int, input: Input) -> dict[str, Calibrator]:
    """The calibrators that suit so many classes, by name."""
    if n_classes == 2:
        return {
            "platt": PlattScaling(),
            "temperature": TemperatureScaling(input=input),
            "beta": BetaCalibration(),
            "isotonic": IsotonicCalibration(),
            "histogram": HistogramBinning(),
        }
    return {
        "temperature": TemperatureScaling(input=input),
        "vector": VectorScaling(input=input),
        "dirichlet": DirichletCalibration(),
        "ovr-platt": OneVsRest(PlattScaling()),
        "ovr-beta": OneVsRest(BetaCalibration()),
        "ovr-isotonic": OneVsRest(IsotonicCalibration()),
        "ovr-histogram": OneVsRest(HistogramBinning()),
    }


def left_out(n_classes: int, n_rows: int) -> dict[str, str]:
    """Those of the default calibrators that so few rows are not enough for, and why."""
    n_parameters = n_classes * (n_classes + 1)
    if n_classes == 2 or n_rows >= _ROWS_PER_PARAMETER * n_parameters:
        return {}
    return {
        "dirichlet": (
            f"left out, as {n_rows:,} rows are fewer than {_ROWS_PER_PARAMETER} for each of its "
            f"{n_parameters:,} parameters: name it in calibrators to fit it all the same."
        )
    }


def named_calibrators(calibrators: Any) -> dict[str, Calibrator]:
    """The calibrators by the names they were given, or else by those of their methods.

    Raises
    ------
    ValueError
        If it is not a sequence of calibrators or of (name, calibrator) pairs, or two have the same
        name.
    """
    if isinstance(calibrators, str | Calibrator) or not isinstance(calibrators, Iterable):
        raise ValueError(
            "calibrators must be None, or a list of calibrators or of (name, calibrator) pairs, "
            f"got {calibrators!r:.80}."
        )
    found: dict[str, Calibrator] = {}
    for place, item in enumerate(calibrators):
        name, calibrator = _pair(item, place)
        if name == UNCALIBRATED:
            raise ValueError(
                f"calibrators[{place}] is called {name!r}, the name of the predictions as they "
                "are: choose another."
            )
        if name in found:
            raise ValueError(
                f"calibrators[{place}] is the second one called {name!r}: give each a name of its "
                "own, as in [('first', ...), ('second', ...)]."
            )
        found[name] = calibrator
    if not found:
        raise ValueError("calibrators is empty: name at least one, or leave it out.")
    return found


def _pair(item: Any, place: int) -> tuple[str, Calibrator]:
    if isinstance(item, Calibrator):
        return method_name(item), item
    if (
        isinstance(item, tuple | list)
        and len(item) == 2
        and isinstance(item[0], str)
        and isinstance(item[1], Calibrator)
    ):
        return item[0], item[1]
    raise ValueError(
        f"calibrators[{place}] is {item!r:.80}: it must be an instance of a calibrator, or a "
        "(name, calibrator) pair."
    )


def method_name(calibrator: Calibrator) -> str:
    """What a calibrator is called where it was given no name."""
    calibrator = without_folds(calibrator)
    if isinstance(calibrator, OneVsRest):
        return f"ovr-{method_name(calibrator.base)}"
    return _METHODS.get(type(calibrator), type(calibrator).__name__)


def complexity(calibrator: Calibrator | None) -> tuple[int, bool]:
    """Lower is simpler; None stands for the predictions as they are."""
    if calibrator is None:
        return -1, False
    calibrator = without_folds(calibrator)
    one_vs_rest = isinstance(calibrator, OneVsRest)
    kind = type(calibrator.base) if isinstance(calibrator, OneVsRest) else type(calibrator)
    known = list(_METHODS)
    return (known.index(kind) if kind in known else len(known)), one_vs_rest


def taken_scale(calibrator: Calibrator) -> Taken:
    """What a calibrator is fitted on: "any" if scores of every scale will do."""
    inner: Any = calibrator
    while hasattr(inner, "base"):  # OneVsRest and CrossValidated take what their base takes
        inner = inner.base
    if hasattr(inner, "input"):
        taken: Taken = inner.input
        return taken
    return "any" if inner._scale == "score" else "probability"


def fed(calibrator: Calibrator, rows: NDArray[Any], input: Input) -> NDArray[Any]:
    """The rows on the scale that the calibrator takes; (n,) or as many columns as given."""
    taken = taken_scale(calibrator)
    if input == "probability":
        return probabilities_to_logits(calibrator, rows) if taken == "logit" else rows
    if taken == "probability":
        return to_probabilities(rows, input)
    binary = isinstance(without_folds(calibrator), BinaryCalibrator)
    if binary and rows.ndim == 2 and rows.shape[1] == 2:
        odds: NDArray[Any] = np.diff(rows.astype(np.float64), axis=1)[:, 0]
        return odds
    return rows


def probabilities_to_logits(calibrator: Calibrator, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Log-odds of each column for one-vs-rest and of vectors; else logits of a softmax."""
    prob = inputs.as_columns(rows, "X").astype(np.float64, copy=False)
    if prob.ndim == 1 or isinstance(without_folds(calibrator), OneVsRest):
        return logit(prob)
    logits: NDArray[np.float64] = np.log(np.maximum(prob, _EPS))
    return logits


def to_probabilities(rows: NDArray[Any], input: Input) -> NDArray[Any]:
    """The predictions as they are, as probabilities."""
    if input == "probability":
        return rows
    return inv_logit(rows) if rows.ndim == 1 else softmax(rows)
