"""Scores of forecasts, coverage of their intervals, and calibration in cells of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant import frames
from calibrant.arguments import check_n_bins
from calibrant.forecasts.base import Floats
from calibrant.inputs import as_real_array, as_weights
from calibrant.metrics.average import PITMethod, area_from_uniform, check_forecast, pit_values
from calibrant.metrics.cells import ParameterGrid, Spread


def crps(forecast: Any, y: Any, *, sample_weight: Any = None) -> float:
    r"""Mean continuous ranked probability score, in the unit of the outcome; 0 is best.

    .. math:: \frac{1}{n} \sum_i \int (F_i(t) - 1[y_i \le t])^2 dt

    A proper score: forecasting the true distribution is best on average. Scores of single rows are
    ``forecast.crps(y)``.

    Parameters
    ----------
    forecast : Forecast, or anything with a broadcasting ``cdf``
        n predictive distributions.
    y : array-like of shape (n,)
        Outcomes.
    sample_weight : array-like of shape (n,), optional
        Weights; an integer weight means the same as repeating the row.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If there are not as many outcomes as forecasts, or one is not finite.

    References
    ----------
    Gneiting, T., Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and estimation.
    J. Amer. Statist. Assoc. 102.

    Examples
    --------
    >>> from calibrant import crps
    >>> from calibrant.forecasts import Normal
    >>> round(crps(Normal([0.0, 1.0], 2.0), [0.0, 1.0]), 4)
    0.4674
    """
    held, outcomes = check_forecast(forecast, y)
    weight = as_weights(sample_weight, len(outcomes))
    return float(np.average(held.crps(outcomes), weights=weight))


def log_score(forecast: Any, y: Any, *, sample_weight: Any = None) -> float:
    r"""Mean negative log density of the outcomes: :math:`-\frac{1}{n} \sum_i \log f_i(y_i)`.

    A proper score; smaller is better. It is infinite where an outcome had no density.

    Parameters
    ----------
    forecast, y, sample_weight
        As for `crps`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As for `crps`; or if the forecast has no density.

    Examples
    --------
    >>> from calibrant import log_score
    >>> from calibrant.forecasts import Normal
    >>> round(log_score(Normal([0.0, 1.0], 2.0), [0.0, 1.0]), 4)
    1.6121
    """
    held, outcomes = check_forecast(forecast, y)
    weight = as_weights(sample_weight, len(outcomes))
    return -float(np.average(held.logpdf(outcomes), weights=weight))


def distribution_calibration_error(
    forecast: Any,
    y: Any,
    *,
    n_bins: int = 20,
    spread: Spread = "sd",
    method: PITMethod = "value",
    random_state: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Distribution calibration error: the average calibration error among similar forecasts.

    .. math:: \sum_k \frac{n_k}{n} \int_0^1 |\hat P(F(Y) \le c \mid \text{cell } k) - c| \, dc

    over cells of the forecasts' parameters, equal per parameter between its extremes, in place of
    conditioning on each single distribution (Definition 6 of the source). The number of cells grows
    as a power of the number of parameters, and a cell with few rows has a large error by chance
    alone: 1/3 on average for a single row. So compare only forecasts with the same parameters.

    Parameters
    ----------
    forecast, y, method, random_state, sample_weight
        As for `average_calibration_error`.
    n_bins : int, default=20
        Cells per parameter.
    spread : {"sd", "variance"}, default="sd"
        Whether standard deviations are divided as they are, or squared.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If outcomes or weights do not fit the forecasts, or a parameter is not as described.

    Notes
    -----
    Time O(n log n) whatever the number of cells. A cell holds its lower edges, the last one both.

    References
    ----------
    Song, H., Diethe, T., Kull, M., Flach, P. (2019). Distribution calibration for regression. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import distribution_calibration_error
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=5000)
    >>> y = mu + np.where(mu > 0.0, 1.5, 0.5) * rng.normal(size=5000)
    >>> round(distribution_calibration_error(Normal(mu, 1.0), y, n_bins=4), 3)
    0.058
    """
    held, outcomes = check_forecast(forecast, y)
    weight = as_weights(sample_weight, len(outcomes))
    weights = np.ones(len(outcomes)) if weight is None else weight
    there = weights > 0.0
    held, outcomes, weights = held[there], outcomes[there], weights[there]
    cell = ParameterGrid.of(held, check_n_bins(n_bins), spread).cells(held, closed=True)
    pits = pit_values(held, outcomes, method, random_state)
    order = np.lexsort((pits, cell))
    first = np.flatnonzero(np.diff(cell[order], prepend=-2))
    parts = np.split(order, first[1:])
    areas = [area_from_uniform(pits[rows], weights[rows]) for rows in parts]
    return float(np.average(areas, weights=[weights[rows].sum() for rows in parts]))


@dataclass(frozen=True, eq=False, repr=False)
class CoverageTable:
    """How often central prediction intervals held the outcome.

    Attributes
    ----------
    confidence : ndarray of shape (k,)
        What the intervals promise.
    coverage : ndarray of shape (k,)
        The share of outcomes within them, ends included.
    below, above : ndarray of shape (k,)
        The shares of outcomes below the lower and above the upper end.
    mean_width : ndarray of shape (k,)
        Mean width of the intervals, in the unit of the outcome.
    """

    confidence: Floats
    coverage: Floats
    below: Floats
    above: Floats
    mean_width: Floats

    def to_dict(self) -> dict[str, list[float]]:
        """The columns as lists."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame with a row for each confidence."""
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return frames.from_columns(columns, backend)

    def __repr__(self) -> str:
        columns = [
            (name, [f"{value:.4g}" for value in getattr(self, name)])
            for name in self.__dataclass_fields__
        ]
        return "\n".join(["CoverageTable", *frames.aligned(columns)])


def interval_coverage(
    forecast: Any,
    y: Any,
    *,
    confidence: Any = (0.5, 0.8, 0.9, 0.95),
    sample_weight: Any = None,
) -> CoverageTable:
    """Coverage and width of central prediction intervals.

    Parameters
    ----------
    forecast, y, sample_weight
        As for `crps`.
    confidence : array-like of shape (k,), default=(0.5, 0.8, 0.9, 0.95)
        Probabilities of the intervals, in [0, 1].

    Returns
    -------
    CoverageTable

    Raises
    ------
    ValueError
        As for `crps`; or if `confidence` is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import interval_coverage
    >>> from calibrant.forecasts import Normal
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> interval_coverage(Normal(np.zeros(1000), 0.5), y, confidence=[0.5, 0.9])
    CoverageTable
    confidence  coverage  below  above  mean_width
           0.5     0.264  0.389  0.347      0.6745
           0.9     0.612  0.205  0.183       1.645
    """
    held, outcomes = check_forecast(forecast, y)
    weight = as_weights(sample_weight, len(outcomes))
    promised = np.asarray(as_real_array(confidence, "confidence", low=0.0, high=1.0), float)
    if promised.ndim != 1 or len(promised) == 0:
        raise ValueError(
            f"confidence has shape {promised.shape}: it must be a one-dimensional array."
        )
    tail = ((1.0 - promised) / 2.0)[:, None]
    low, high = held.ppf(tail), held.ppf(1.0 - tail)

    def mean(values: Any) -> Floats:
        return np.asarray(np.average(values, axis=1, weights=weight))

    below, above = mean(outcomes < low), mean(outcomes > high)
    return CoverageTable(promised, 1.0 - below - above, below, above, mean(high - low))
