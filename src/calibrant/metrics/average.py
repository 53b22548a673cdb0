"""Probability integral transforms and average calibration."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.arguments import as_generator
from calibrant.forecasts.adapters import as_forecast
from calibrant.forecasts.base import Floats, Forecast, as_outcomes, check_probabilities
from calibrant.inputs import as_weights

PITMethod = Literal["value", "mid", "randomized"]

_METHODS = ("value", "mid", "randomized")


def pit(forecast: Any, y: Any, *, method: PITMethod = "value", random_state: Any = None) -> Floats:
    r"""Probability integral transform of each outcome: where in its forecast it fell.

    Uniform on [0, 1] if the forecast is calibrated and continuous.

    Parameters
    ----------
    forecast : Forecast, or anything with a broadcasting ``cdf``
        n predictive distributions.
    y : array-like of shape (n,)
        Outcomes.
    method : {"value", "mid", "randomized"}, default="value"
        What to take where the CDF jumps at the outcome, from P(Y < y) to P(Y <= y): the upper end
        F(y); the middle; or a random point in between, which is uniform for a calibrated forecast
        even then. For continuous forecasts they are the same.
    random_state : None, int or numpy.random.Generator, optional
        For "randomized".

    Returns
    -------
    numpy.ndarray of shape (n,)

    Raises
    ------
    ValueError
        If there are not as many outcomes as forecasts, an outcome is not finite, or `method` is
        unknown.

    Notes
    -----
    Time O(n) plus one evaluation of the CDF (two for "mid" and "randomized").

    References
    ----------
    Czado, C., Gneiting, T., Held, L. (2009). Predictive model assessment for count data.
    Biometrics 65.

    Examples
    --------
    >>> from calibrant import pit
    >>> from calibrant.forecasts import Ensemble
    >>> members = [[0.0, 0.0, 1.0, 2.0]]
    >>> pit(Ensemble(members), [0.0]), pit(Ensemble(members), [0.0], method="mid")
    (array([0.5]), array([0.25]))
    """
    held, outcomes = check_forecast(forecast, y)
    return pit_values(held, outcomes, method, random_state)


def average_calibration_error(
    forecast: Any,
    y: Any,
    *,
    method: PITMethod = "value",
    random_state: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Average calibration error: the area between the distribution of the PITs and the uniform.

    .. math:: \int_0^1 |\hat P(F_i(y_i) \le c) - c| \, dc

    It is zero if the forecast is calibrated on average (Definition 5 of the source), and at most
    1/2. It is computed exactly, and is not zero for a calibrated forecast of n rows: its mean is
    then close to :math:`\sqrt{\pi / (32 n)}`, or 0.31 / sqrt(n).

    Parameters
    ----------
    forecast, y, method, random_state
        As for `pit`.
    sample_weight : array-like of shape (n,), optional
        Weights; an integer weight means the same as repeating the row.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As for `pit`; or for weights that are negative or all zero.

    Notes
    -----
    Time O(n log n).

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., Ermon, S. (2021). Reliable decisions with threshold calibration.
    NeurIPS.

    Examples
    --------
    >>> from calibrant import average_calibration_error
    >>> from calibrant.forecasts import Normal
    >>> average_calibration_error(Normal([0.0, 0.0], 1.0), [-0.67448975, 0.67448975])
    0.125
    """
    held, outcomes = check_forecast(forecast, y)
    weight = as_weights(sample_weight, len(outcomes))
    values = pit_values(held, outcomes, method, random_state)
    return area_from_uniform(*sorted_pits(values, weight))


def check_forecast(forecast: Any, y: Any) -> tuple[Forecast, Floats]:
    """A forecast and its outcomes (n,)."""
    held = as_forecast(forecast)
    return held, as_outcomes(y, len(held))


def pit_values(forecast: Forecast, y: Floats, method: Any, random_state: Any) -> Floats:
    """PITs of clean input."""
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}, got {method!r}.")
    upper = check_probabilities(forecast.cdf(y))
    if method == "value":
        return upper
    lower = check_probabilities(forecast.cdf_left(y))
    if method == "mid":
        return (lower + upper) / 2.0
    return lower + as_generator(random_state).random(len(y)) * (upper - lower)


def sorted_pits(values: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """PITs in ascending order, and their weights."""
    if weight is None:
        return np.sort(values), np.ones(len(values))
    order = np.argsort(values, kind="stable")
    return values[order], weight[order]


def area_from_uniform(pit: Floats, weight: Floats) -> float:
    """The exact integral of |P(PIT <= c) - c| over c; `pit` ascends. No rows give 0."""
    if len(pit) == 0:
        return 0.0
    reached = np.cumsum(weight)
    middle = (reached - weight / 2.0) / reached[-1]
    return float(areas_of_steps(pit, middle, weight / (2.0 * reached[-1])).sum())


def areas_of_steps(pit: Floats, middle: Any, half: Any) -> Floats:
    """What each sorted PIT adds to that integral, where its step is `middle` minus to plus `half`.

    The formula is derived in `calibrant.kernels.group_errors`.
    """
    distance = np.abs(pit - middle)
    areas = np.where(distance >= half, 2.0 * half * distance, distance**2 + half**2)
    return np.asarray(areas)
