"""Predictive distributions of other libraries as forecasts; none of them is imported here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calibrant.forecasts.base import Floats, Forecast
from calibrant.forecasts.from_cdf import FromCDF, Source
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.scipy_frozen import from_scipy, is_univariate
from calibrant.forecasts.torch_distributions import from_torch

__all__ = [
    "as_forecast",
    "from_ngboost",
    "from_quantile_regressors",
    "from_return_std",
    "from_scipy",
    "from_skpro",
    "from_torch",
]

# What a method raises that does not know the arguments of SciPy's.
_CALL_ERRORS = (TypeError, ValueError, IndexError, AttributeError, NotImplementedError)


def as_forecast(forecast: Any, n: int | None = None) -> Forecast:
    """Whatever holds predictive distributions as a forecast.

    Parameters
    ----------
    forecast : Forecast, or object of another library
        A forecast is given back as it is. Frozen distributions of SciPy and distributions of
        PyTorch, NGBoost and skpro go through their adapters. Anything else needs a method `cdf`
        that broadcasts as those of SciPy do; `ppf`, `pmf` (the probability of single values,
        which there are none of without it), `mean` and `std` are used where they broadcast too.
    n : int, optional
        How many outcomes there are.

    Returns
    -------
    Forecast

    Raises
    ------
    ValueError
        If it is no forecast, or not one for each of the `n` outcomes.

    Examples
    --------
    >>> from scipy import stats
    >>> from calibrant.forecasts import as_forecast
    >>> as_forecast(stats.norm([0.0, 1.0], 2.0))
    Normal(2 rows)
    """
    known = _adapted(forecast)
    if n is not None and len(known) != n:
        raise ValueError(
            f"there are {len(known)} forecasts for {n} outcomes: each outcome needs its own."
        )
    return known


def _adapted(forecast: Any) -> Forecast:
    if isinstance(forecast, Forecast):
        return forecast
    modules = {kind.__module__.partition(".")[0] for kind in type(forecast).__mro__}
    if "scipy" in modules and is_univariate(forecast):
        return from_scipy(forecast)
    adapters: dict[str, Callable[[Any], Forecast]] = {
        "torch": from_torch,
        "ngboost": from_ngboost,
        "skpro": from_skpro,
    }
    for library, adapter in adapters.items():
        if library in modules:
            return adapter(forecast)
    return _from_cdf(forecast)


# ---------------------------------------------------------------------- regressors


def from_return_std(estimator: Any, X: Any) -> Normal:
    """Normal forecasts of a regressor whose ``predict(X, return_std=True)`` knows its spread.

    Parameters
    ----------
    estimator : fitted scikit-learn regressor
        Such as `GaussianProcessRegressor` or `BayesianRidge`.
    X : array-like of shape (n, n_features)

    Raises
    ------
    ValueError
        If `estimator` does not give standard deviations, one for each row, all positive.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> from calibrant.forecasts.adapters import from_return_std
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> from_return_std(BayesianRidge().fit(X, [0.0, 1.5, 1.5, 3.0]), X)
    Normal(4 rows)
    """
    try:
        mean, std = estimator.predict(X, return_std=True)
    except TypeError as error:
        raise ValueError(
            f"predict of {type(estimator).__name__} does not take return_std=True: pass a "
            "regressor that gives standard deviations."
        ) from error
    return Normal(mean, std)


def from_quantile_regressors(estimators: Sequence[Any], levels: Any, X: Any) -> Forecast:
    """Forecasts from regressors that each predict one quantile.

    Parameters
    ----------
    estimators : sequence of L fitted scikit-learn regressors
        Such as `QuantileRegressor`, or `HistGradientBoostingRegressor` with
        ``loss="quantile"``, in the order of `levels`.
    levels : array-like of shape (L,)
        Their levels, ascending within (0, 1).
    X : array-like of shape (n, n_features)

    Returns
    -------
    Quantiles

    Raises
    ------
    ValueError
        If there are not as many estimators as levels, or predictions cross.

    Examples
    --------
    >>> from sklearn.linear_model import QuantileRegressor
    >>> from calibrant.forecasts.adapters import from_quantile_regressors
    >>> X, y, levels = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.5, 3.0], [0.1, 0.5, 0.9]
    >>> fitted = [QuantileRegressor(quantile=level, alpha=0.0).fit(X, y) for level in levels]
    >>> from_quantile_regressors(fitted, levels, X)
    Quantiles(4 rows)
    """
    from calibrant.forecasts.quantiles import Quantiles

    if len(estimators) != np.size(levels):
        raise ValueError(
            f"there are {len(estimators)} estimators for {np.size(levels)} levels: each level "
            "needs its own."
        )
    return Quantiles(levels, np.column_stack([fitted.predict(X) for fitted in estimators]))


def from_ngboost(dist: Any) -> Forecast:
    """Forecasts from what ``NGBRegressor.pred_dist(X)`` of NGBoost gives.

    Raises
    ------
    ValueError
        If `dist` is not a distribution of one real outcome.
    """
    frozen = getattr(dist, "dist", None)
    if not hasattr(frozen, "cdf"):
        raise ValueError(
            f"dist is of type {type(dist).__name__}: it must be a distribution of one real "
            "outcome, as pred_dist of NGBRegressor gives it."
        )
    return from_scipy(frozen)


def from_skpro(dist: Any) -> Forecast:
    """Forecasts from a distribution of skpro with n rows and one column.

    Parameters
    ----------
    dist : skpro distribution of shape (n, 1)
        As ``predict_proba(X)`` of its regressors gives it for one target.

    Raises
    ------
    ValueError
        If `dist` has another shape.

    Notes
    -----
    skpro is called once for each point that is asked of all rows. The score of a discrete
    distribution is integrated over its steps, to about three digits.
    """
    shape = getattr(dist, "shape", None)
    if shape is None or len(shape) != 2 or shape[1] != 1 or shape[0] == 0:
        raise ValueError(
            f"dist is of type {type(dist).__name__} and shape {shape}: it must be a distribution "
            "of skpro of shape (n, 1); pick one column with dist.iloc[:, [0]]."
        )
    return FromCDF([_skpro_source(dist)])


def _skpro_source(dist: Any) -> Source:
    def of_points(method: str) -> Callable[[Floats], Floats]:
        def function(points: Floats) -> Floats:
            columns = [getattr(dist, method)(point[:, None]) for point in points]
            return np.stack([np.asarray(column)[:, 0] for column in columns])

        return function

    def column(values: Any) -> Floats:
        return np.asarray(values, dtype=np.float64)[:, 0]

    continuous = dist.get_tag("distr:measuretype") == "continuous"
    return Source(
        name=type(dist).__name__,
        n=len(dist),
        cdf=of_points("cdf"),
        ppf=of_points("ppf"),
        logpdf=of_points("log_pdf") if continuous else None,
        mass=None if continuous else of_points("pmf"),
        mean=lambda: column(dist.mean()),
        std=lambda: np.sqrt(column(dist.var())),
        take=lambda rows: _skpro_source(dist.iloc[rows]),
    )


def _from_cdf(thing: Any) -> FromCDF:
    """Any object whose `cdf` broadcasts, with those of its other methods that do."""
    name = type(thing).__name__
    not_a_forecast = (
        f"forecast is of type {name}: it must be a forecast of calibrant, a distribution of "
        "scipy.stats, PyTorch, NGBoost or skpro, or have a method cdf that broadcasts as those of "
        "scipy.stats do: cdf(0.0) gives (n,), and cdf of points (m, 1) gives (m, n)."
    )
    if isinstance(thing, type) or not callable(getattr(thing, "cdf", None)):
        raise ValueError(not_a_forecast)
    points = np.full((2, 1), 0.5)
    try:
        shape, grid = np.shape(thing.cdf(0.0)), np.shape(thing.cdf(points))
    except _CALL_ERRORS as error:
        raise ValueError(not_a_forecast) from error
    n = shape[0] if shape else 1
    if len(shape) > 1 or n == 0 or grid != (2, n):
        raise ValueError(not_a_forecast)
    source = Source(
        name=name,
        n=n,
        cdf=thing.cdf,
        ppf=_method_of_shape(thing, "ppf", (2, n), points),
        mass=_method_of_shape(thing, "pmf", (2, n), points),
        mean=_method_of_shape(thing, "mean", shape),
        std=_method_of_shape(thing, "std", shape),
    )
    return FromCDF([source])


def _method_of_shape(
    thing: Any, method: str, shape: tuple[int, ...], *values: Floats
) -> Callable[..., Any] | None:
    """A method if there is one and it gives this shape."""
    function: Callable[..., Any] | None = getattr(thing, method, None)
    if not callable(function):
        return None
    try:
        return function if np.shape(function(*values)) == shape else None
    except _CALL_ERRORS:
        return None
