"""All that the report on forecasts says, computed; showing it is another matter."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from calibrant.evaluation.forecasts import Evaluation, evaluate
from calibrant.evaluation.verdict import effective_size
from calibrant.forecasts import Forecast
from calibrant.forecasts.base import Floats
from calibrant.metrics.average import area_from_uniform, pit, sorted_pits
from calibrant.metrics.forecast_scores import interval_coverage
from calibrant.recalibration import ThresholdRecalibration
from calibrant.reporting import slices, stakes
from calibrant.reporting.slices import Group
from calibrant.reporting.stakes import Stakes

FEWEST_ROWS = 60
"""To fit a recalibration on two thirds of."""

AS_THEY_ARE = "as they are"
RECALIBRATED = "recalibrated"
_HELD_OUT = 1 / 3
_CONFIDENCE = 0.9


@dataclass(frozen=True)
class Rows:
    """Forecasts with outcomes and weights."""

    forecast: Forecast
    y: Floats
    weight: Floats | None

    def take(self, rows: NDArray[np.intp]) -> Rows:
        weight = None if self.weight is None else self.weight[rows]
        return Rows(self.forecast[rows], self.y[rows], weight)


@dataclass(frozen=True)
class Repair:
    """What a recalibration fitted on the other rows does to those that were held out."""

    recalibration: ThresholdRecalibration
    n_fitted: int
    held_out: Rows
    recalibrated: Forecast
    before: Evaluation
    after: Evaluation


@dataclass(frozen=True)
class Findings:
    """What was found; `repair` is None where there are too few rows for one."""

    rows: Rows
    evaluation: Evaluation
    repair: Repair | None
    groups: tuple[Group, ...]
    stakes: Stakes


def find(rows: Rows, groups: NDArray[Any] | None, *, n_resamples: int, seed: int) -> Findings:
    """Look at the forecasts from all sides."""
    repair = _repair(rows, seed)
    if repair is None:
        decided = stakes.of_outcomes({AS_THEY_ARE: rows.forecast}, rows.y, rows.weight)
    else:
        held_out = repair.held_out
        decided = stakes.of_outcomes(
            {AS_THEY_ARE: held_out.forecast, RECALIBRATED: repair.recalibrated},
            held_out.y,
            held_out.weight,
        )
    return Findings(
        rows=rows,
        evaluation=evaluate(rows.forecast, rows.y, rows.weight, seed=seed),
        repair=repair,
        groups=() if groups is None else _groups(rows, groups, n_resamples, seed),
        stakes=decided,
    )


def _repair(rows: Rows, seed: int) -> Repair | None:
    n = len(rows.y)
    if n < FEWEST_ROWS:
        return None
    order = np.random.default_rng(seed).permutation(n)
    n_held_out = round(_HELD_OUT * n)
    held_out = rows.take(np.sort(order[:n_held_out]))
    fitted = rows.take(np.sort(order[n_held_out:]))
    recalibration = ThresholdRecalibration(early_stopping=True, pit="randomized", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it does to other rows is what counts
        recalibration.fit(fitted.forecast, fitted.y, sample_weight=fitted.weight)
    after = recalibration.transform(held_out.forecast)
    before_and_after = (
        evaluate(one, held_out.y, held_out.weight, seed=seed) for one in (held_out.forecast, after)
    )
    return Repair(recalibration, len(fitted.y), held_out, after, *before_and_after)


def _groups(rows: Rows, groups: NDArray[Any], n_resamples: int, seed: int) -> tuple[Group, ...]:
    pits = pit(rows.forecast, rows.y, method="randomized", random_state=seed)

    def look(label: Any, own: NDArray[np.intp], n_groups: int) -> Group:
        part, values = rows.take(own), pits[own]
        coverage = interval_coverage(
            part.forecast, part.y, confidence=[_CONFIDENCE], sample_weight=part.weight
        )
        error, low, high = _error(values, part.weight, n_resamples, seed)
        size = effective_size(len(own), part.weight)
        return Group(
            label=label,
            n=len(own),
            predicted=_CONFIDENCE,
            observed=float(coverage.coverage[0]),
            error=error,
            low=low,
            high=high,
            by_chance=float(np.sqrt(np.pi / (32.0 * size))),
            pvalue=_pvalue(values, part.weight, size),
        )

    return slices.examine(groups, look)


def _error(
    pits: Floats, weight: Floats | None, n_resamples: int, seed: int
) -> tuple[float, float, float]:
    """Average calibration error with its percentile interval."""
    rng = np.random.default_rng(seed)

    def of(rows: Any) -> float:
        own = None if weight is None else weight[rows]
        return area_from_uniform(*sorted_pits(pits[rows], own))

    estimate = of(np.arange(len(pits)))
    draws = [of(rng.integers(len(pits), size=len(pits))) for _ in range(n_resamples)]
    low, high = np.quantile(draws, [0.025, 0.975])
    return estimate, min(float(low), estimate), max(float(high), estimate)


def _pvalue(pits: Floats, weight: Floats | None, size: float) -> float | None:
    """Of uniform PITs: Kolmogorov's test, exact without weights."""
    if len(pits) < 2:
        return None
    values, weights = sorted_pits(pits, weight)
    reached = np.cumsum(weights) / weights.sum()
    before = np.concatenate([[0.0], reached[:-1]])
    distance = float(np.maximum(reached - values, values - before).max())
    if weight is None:
        return float(stats.kstwo.sf(distance, len(pits)))
    return float(stats.kstwobign.sf(distance * np.sqrt(size)))
