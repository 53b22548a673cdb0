"""How sure the numbers of forecasts are: a test of calibration on average, and intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from calibrant.decisions import DecisionTable, makers, replicates, sums
from calibrant.evaluation.forecasts import Evaluation, ensemble_size
from calibrant.forecasts import Forecast
from calibrant.forecasts.base import Floats
from calibrant.inference.resamples import Resamples
from calibrant.metrics.average import area_from_uniform, areas_of_steps, sorted_pits
from calibrant.percentiles import percentile_interval
from calibrant.reporting.forecast_rows import Rows

_LEVEL = 0.95
_ABREAST = 8  # resamples of all rows that are held at a time


class Interval(NamedTuple):
    estimate: float
    low: float
    high: float


def intervals(
    rows: Rows, pits: Floats, found: Evaluation, n_resamples: int, seed: int
) -> dict[str, Interval]:
    """Of the average calibration error, the reliability gap and the CRPS."""
    resamples = Resamples(len(pits), n_resamples, np.random.default_rng(seed), None)
    return {
        "average": _average(pits, rows.weight, resamples),
        "gap": _interval(found.gap, _gaps(rows, found.decisions, resamples)),
        "crps": _interval(found.crps, _scores(rows, resamples))
        if math.isfinite(found.crps)
        else Interval(found.crps, math.nan, math.nan),
    }


def average_error(pits: Floats, weight: Floats | None, n_resamples: int, seed: int) -> Interval:
    """Average calibration error with its percentile interval."""
    return _average(
        pits, weight, Resamples(len(pits), n_resamples, np.random.default_rng(seed), None)
    )


def uniform_pvalue(
    pits: Floats, weight: Floats | None, size: float, forecast: Forecast
) -> float | None:
    """Of uniform PITs: Kolmogorov's test, exact without weights; None for a single row.

    The rank of an outcome among m exchangeable members takes m + 1 values, so that the
    distribution of the PITs of an ensemble may be 1 / (m + 1) from the uniform one.
    """
    if len(pits) < 2:
        return None
    values, weights = sorted_pits(pits, weight)
    reached = np.cumsum(weights) / weights.sum()
    before = np.concatenate([[0.0], reached[:-1]])
    distance = float(np.maximum(reached - values, values - before).max())
    members = ensemble_size(forecast)
    if members is not None:
        distance = max(0.0, distance - 1.0 / (members + 1))
    if weight is None:
        return float(stats.kstwo.sf(distance, len(pits)))
    return float(stats.kstwobign.sf(distance * np.sqrt(size)))


def _average(pits: Floats, weight: Floats | None, resamples: Resamples) -> Interval:
    order = np.argsort(pits, kind="stable")
    values, weights = sorted_pits(pits, weight)

    def errors(replicates: slice) -> Floats:
        drawn = resamples.multiplicities(replicates)[order] * weights[:, np.newaxis]
        reached = drawn.cumsum(axis=0)
        total, half = reached[-1], drawn / 2.0
        middle = (reached - half) / total
        areas = areas_of_steps(values[:, np.newaxis], middle, half / total)
        return np.asarray(areas.sum(axis=0))

    estimate = area_from_uniform(values, weights)
    return _interval(estimate, resamples.evaluate(errors, _ABREAST))


def _scores(rows: Rows, resamples: Resamples) -> Floats:
    weight = _weights(rows)
    columns = [weight * rows.forecast.crps(rows.y), weight]
    score, total = replicates.column_sums(columns, resamples).T
    return np.asarray(score / total)


def _gaps(rows: Rows, table: DecisionTable, resamples: Resamples) -> Floats:
    """Of resamples, the reliability gap averaged over all makers and rules of the table."""
    all_makers = makers.Makers.of(table.cost_ratios, table.levels, table.total)
    sample = makers.Sample.of(rows.forecast, rows.y, rows.weight, strict=table.strict)
    step = makers.thresholds_at_a_time(len(rows.y))
    drawn = []
    for start in range(0, len(table.thresholds), step):
        held = [sample.at(value) for value in table.thresholds[start : start + step]]
        bucket = [sums.buckets(cdf, all_makers.cuts).astype(np.uint32) for cdf, _, _ in held]
        residual = [sample.weight * (below - prob) for _, prob, below in held]
        drawn.append(
            replicates.bucket_sums(
                np.array(bucket), np.array(residual), len(all_makers.cuts) + 1,
                lambda found: _gaps_of(all_makers, found), resamples,
            )
        )  # fmt: skip
    total = replicates.column_sums([sample.weight], resamples)[:, 0]
    return np.asarray(np.concatenate(drawn, axis=1).mean(axis=1) / total)


def _gaps_of(all_makers: makers.Makers, residuals: Floats) -> Floats:
    """`Makers.gaps` of many resamples, averaged over the makers: (R, thresholds).

    From sums of residuals (thresholds, buckets, R).
    """
    cost = all_makers.false_positive[:, np.newaxis, np.newaxis]
    other = all_makers.false_negative[:, np.newaxis, np.newaxis]
    gaps = np.empty((residuals.shape[2], len(residuals)))
    for t, own in enumerate(residuals):
        from_above = own[::-1].cumsum(axis=0)[::-1]
        acting = from_above[1:][all_makers.rules]
        idle = from_above[0] - acting
        gaps[:, t] = np.abs(cost * acting - other * idle).mean(axis=(0, 1))
    return gaps


def _weights(rows: Rows) -> Floats:
    return np.ones(len(rows.y)) if rows.weight is None else rows.weight


def _interval(estimate: float, drawn: Floats) -> Interval:
    low, high = percentile_interval(estimate, drawn, _LEVEL)
    return Interval(estimate, float(low), float(high))
