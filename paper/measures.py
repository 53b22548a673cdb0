"""What a forecast is measured by, as rows of a tidy table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from calibrant import (
    DistributionRecalibration,
    average_calibration_error,
    crps,
    decision_table,
    distribution_calibration_error,
    threshold_calibration_error,
)
from calibrant.forecasts import Forecast

from .forecasts import Sample
from .methods import Make, fitting_rows

Floats = NDArray[np.float64]

GAP = "reliability gap"
LOSS = "decision loss"
PREDICTED = "predicted loss"
CRPS = "CRPS"
AVERAGE_ERROR = "average calibration error"
THRESHOLD_ERROR = "threshold calibration error"
LARGEST_ERROR = "largest threshold calibration error"
DISTRIBUTION_ERROR = "distribution calibration error"
AT_FREQUENT = "reliability gap at frequent outcomes"
BETWEEN_FREQUENT = "reliability gap between frequent outcomes"
LAYERS = "layers"
FITTED_ERROR = "largest threshold calibration error of the fitting rows"
CELL_ROWS = "fitting rows of a test row's cell, median"
OUTSIDE_CELLS = "share of test rows without a map of their cell"

OVERALL = "overall"
BY_THRESHOLD = "threshold"
BY_RATIO = "cost ratio"
BY_LEVEL = "acceptance threshold"

LEVELS = np.linspace(0.05, 0.95, 50)
_HIGHEST_THRESHOLD = 10.0
_N_THRESHOLDS = 50
_FREQUENT = 0.01  # of the test rows
_MANY = 5  # frequent outcomes
_N_CELLS = 5  # per parameter
# F(y) at the jumps of a CDF would be miscalibrated even of the true distribution.
_PIT: Any = {"method": "randomized", "random_state": 0}
_MAKER_COST = 5.0  # of either error, for the decision maker of Figure 1


class Value(NamedTuple):
    """One measured number; `at` is the place on an axis, which is `number` along it."""

    axis: str
    number: int
    at: float
    measure: str
    value: float


def evaluate(make: Make | None, fitting: Sample, test: Sample) -> Iterator[Value]:
    """Recalibrate, and measure the test rows."""
    if make is None:
        yield from of_forecast(*test)
        return
    recalibration = make()
    with warnings.catch_warnings():
        # That 10 or 40 layers do not bring the error to zero is no news.
        warnings.simplefilter("ignore", ConvergenceWarning)
        recalibration.fit(*fitting)
    forecast = recalibration.transform(test.forecast)
    yield from of_forecast(forecast, test.y)
    for measure, value in of_recalibration(recalibration, fitting, forecast).items():
        yield Value(OVERALL, 0, np.nan, measure, value)


def of_forecast(forecast: Forecast, y: Floats) -> Iterator[Value]:
    """Decisions of the paper's 50 x 50 makers, calibration errors and the CRPS."""
    thresholds = np.linspace(y.min(), min(_HIGHEST_THRESHOLD, y.max()), _N_THRESHOLDS)
    table = decision_table(forecast, y, thresholds=thresholds, n_resamples=0)
    for axis, column, means in (
        (BY_THRESHOLD, "threshold", table.by_threshold()),
        (BY_RATIO, "cost_ratio", table.by_cost_ratio()),
    ):
        for measure, name in ((GAP, "reliability_gap"), (LOSS, "decision_loss")):
            yield from _along(axis, means[column], measure, means[name])
    predicted, realised = losses_of_rules(forecast, y)
    yield from _along(BY_LEVEL, LEVELS, PREDICTED, predicted)
    yield from _along(BY_LEVEL, LEVELS, LOSS, realised)
    yield from _along(BY_LEVEL, LEVELS, GAP, np.abs(predicted - realised))
    surface = threshold_calibration_error(forecast, y, **_PIT)
    overall = {
        GAP: table.reliability_gap.mean(),
        LOSS: table.decision_loss.mean(),
        CRPS: crps(forecast, y),
        AVERAGE_ERROR: average_calibration_error(forecast, y, **_PIT),
        THRESHOLD_ERROR: surface.mean,
        LARGEST_ERROR: surface.max,
        DISTRIBUTION_ERROR: distribution_calibration_error(forecast, y, n_bins=_N_CELLS, **_PIT),
    }
    for measure, value in (overall | gaps_at_frequent_outcomes(forecast, y)).items():
        yield Value(OVERALL, 0, np.nan, measure, float(value))


def gaps_at_frequent_outcomes(forecast: Forecast, y: Floats) -> dict[str, float]:
    """Mean gaps of thresholds on outcomes that many rows share, and halfway between those.

    Empty where there are hardly any such outcomes.
    """
    values, counts = np.unique(y, return_counts=True)
    frequent = values[counts >= _FREQUENT * len(y)]
    if len(frequent) < _MANY:
        return {}
    places = {AT_FREQUENT: frequent, BETWEEN_FREQUENT: (frequent[1:] + frequent[:-1]) / 2.0}
    tables = {
        measure: decision_table(forecast, y, thresholds=thresholds, n_resamples=0)
        for measure, thresholds in places.items()
    }
    return {measure: float(table.reliability_gap.mean()) for measure, table in tables.items()}


def losses_of_rules(forecast: Forecast, y: Floats) -> tuple[Floats, Floats]:
    """Predicted and true loss of the rules F(y0) >= level, for the decision maker of Figure 1.

    Both errors cost the same, and y0 is the median outcome.
    """
    threshold = np.median(y)
    probability = np.asarray(forecast.cdf(threshold))
    acts = probability >= LEVELS[:, None]

    def loss(below: Any) -> Floats:
        return np.asarray(_MAKER_COST * np.where(acts, 1.0 - below, below).mean(axis=1))

    return loss(probability), loss(y < threshold)


def of_recalibration(recalibration: Any, fitting: Sample, transformed: Any) -> dict[str, float]:
    """What a fitted recalibration tells of itself: layers, or sizes of cells."""
    if isinstance(recalibration, DistributionRecalibration):
        sizes = np.append(fitting_rows(recalibration, fitting.forecast), 0)
        rows = sizes[transformed.codes[:, 0]]
        return {CELL_ROWS: float(np.median(rows)), OUTSIDE_CELLS: float((rows == 0).mean())}
    facts = {LAYERS: "n_iter_", FITTED_ERROR: "max_tce_"}
    return {
        measure: float(getattr(recalibration, name))
        for measure, name in facts.items()
        if hasattr(recalibration, name)
    }


def _along(axis: str, at: Floats, measure: str, values: Floats) -> Iterator[Value]:
    for number, (place, value) in enumerate(zip(at, values, strict=True)):
        yield Value(axis, number, float(place), measure, float(value))
