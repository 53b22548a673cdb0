"""The thresholds, levels and smallest groups over which threshold calibration is looked at."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from calibrant.forecasts.base import Floats, Forecast, check_probabilities
from calibrant.inputs import as_real_array, as_weights

_LARGEST_MINIMUM = 200
_VALUES_AT_A_TIME = 200_000


def as_thresholds(
    thresholds: Any, y: Floats, weight: Floats | None, shares: tuple[float, float] = (0.2, 0.8)
) -> Floats:
    """Given thresholds, or so many between two quantiles of the outcomes."""
    if _is_count(thresholds):
        low, high = quantiles(y, weight, shares)
        return np.linspace(low, high, _check_count(thresholds, "thresholds"))
    return _as_vector(thresholds, "thresholds", -np.inf, np.inf)


def as_levels(levels: Any, name: str = "levels") -> Floats:
    """Given levels in [0, 1], or so many from 0.05 to 0.95."""
    if _is_count(levels):
        return np.linspace(0.05, 0.95, _check_count(levels, name))
    return _as_vector(levels, name, 0.0, 1.0)


def as_min_group_size(min_group_size: Any, total_weight: float) -> float:
    """The smallest weight of a group; by default 200, or a tenth of all rows where that is less."""
    if min_group_size is None:
        return min(float(_LARGEST_MINIMUM), total_weight / 10.0)
    number = isinstance(min_group_size, Real) and not isinstance(min_group_size, bool)
    if not number or not 0.0 <= min_group_size < np.inf:
        raise ValueError(
            f"min_group_size must be None or a number of rows, 0 or more, got {min_group_size!r}."
        )
    return float(min_group_size)


def cdf_at(forecast: Forecast, thresholds: Floats) -> Floats:
    """F(y0) of all rows at all thresholds, an array (m, n) of its own."""
    n = len(forecast)
    cdf = np.empty((len(thresholds), n))
    # A few thresholds at a time, since families need several arrays of the size of their result.
    step = max(1, _VALUES_AT_A_TIME // n)
    for start in range(0, len(thresholds), step):
        part = forecast.cdf(thresholds[start : start + step, None])
        cdf[start : start + step] = check_probabilities(part)
    return cdf


def as_counts(sample_weight: Any, n: int) -> Floats | None:
    """Weights that count rows; shares of a whole, which would make every group tiny, do not."""
    weight = as_weights(sample_weight, n)
    if weight is not None and weight.sum() < 0.5 * np.count_nonzero(weight):
        raise ValueError(
            f"sample_weight sums to {float(weight.sum()):.3g} for {np.count_nonzero(weight)} rows "
            "of positive weight: weights count rows here. Scale them to a mean of one."
        )
    return weight


def _is_count(values: Any) -> bool:
    return isinstance(values, Integral) and not isinstance(values, bool)


def _check_count(count: Any, name: str) -> int:
    if count < 1:
        raise ValueError(f"{name} must be a number of at least 1, or an array, got {count!r}.")
    return int(count)


def _as_vector(values: Any, name: str, low: float, high: float) -> Floats:
    array = np.asarray(as_real_array(values, name, low=low, high=high), dtype=np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"{name} has shape {array.shape}: it must be a whole number or a one-dimensional array."
        )
    return array


def quantiles(y: Floats, weight: Floats | None, shares: tuple[float, ...]) -> Floats:
    """Linearly interpolated order statistics; a weight of w counts as w equal outcomes."""
    if weight is None:
        return np.quantile(y, shares)
    order = np.argsort(y, kind="stable")
    reached = np.cumsum(weight[order])
    position = max(reached[-1] - 1.0, 0.0) * np.array(shares)
    last = len(y) - 1
    before = y[order[np.minimum(np.searchsorted(reached, np.floor(position), "right"), last)]]
    after = y[order[np.minimum(np.searchsorted(reached, np.floor(position) + 1.0, "right"), last)]]
    return np.asarray(before + (after - before) * (position - np.floor(position)))
