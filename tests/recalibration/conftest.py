"""Forecasts of every family for invariants."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from calibrant import AverageRecalibration, DistributionRecalibration, ThresholdRecalibration
from calibrant.forecasts import (
    Ensemble,
    Laplace,
    LogNormal,
    Mixture,
    Normal,
    Quantiles,
    StudentT,
    Tabulated,
    as_forecast,
)


def make_forecast(family, n, seed):
    """n forecasts of a family with varied parameters, and outcomes they do not describe well."""
    from scipy import stats

    rng = np.random.default_rng(seed)
    mu, sigma = rng.normal(size=n), rng.uniform(0.3, 2.0, size=n)
    y = mu + rng.standard_t(4, size=n)
    if family == "normal":
        return Normal(mu, sigma), y
    if family == "laplace":
        return Laplace(mu, sigma), y
    if family == "student":
        return StudentT(rng.uniform(3.0, 9.0, size=n), mu, sigma), y
    if family == "lognormal":
        return LogNormal(mu / 2.0, sigma / 2.0), np.exp(y / 2.0)
    if family == "mixture":
        return Mixture.gaussian_laplace(mu, sigma, mu + 1.0, sigma / 2.0, rng.random(n)), y
    if family == "ensemble":
        return Ensemble(np.round(rng.normal(mu[:, None], 1.0, size=(n, 9)) * 2.0) / 2.0), y
    if family == "quantiles":
        levels = [0.1, 0.25, 0.5, 0.75, 0.9]
        return Quantiles(levels, Normal(mu, sigma).ppf(np.array(levels)[:, None]).T), y
    if family == "tabulated":
        grid = np.linspace(-8.0, 8.0, 33)
        cdf = Normal(mu, sigma).cdf(grid[:, None]).T
        cdf[:, -1] = 1.0
        return Tabulated(grid, cdf), y
    assert family == "scipy"
    return as_forecast(stats.logistic(mu, sigma)), y


FAMILIES = (
    "normal", "laplace", "student", "lognormal", "mixture", "ensemble", "quantiles", "tabulated",
    "scipy",
)  # fmt: skip


RECALIBRATIONS = {
    "average": AverageRecalibration(),
    "distribution": DistributionRecalibration(n_bins=3),
    "threshold": ThresholdRecalibration(tol=0.0, max_iter=3, thresholds=9, levels=7),
    "early": ThresholdRecalibration(
        tol=0.0, max_iter=3, thresholds=9, early_stopping=True, random_state=0
    ),
}


@pytest.fixture(scope="package", params=itertools.product(RECALIBRATIONS, FAMILIES), ids="-".join)
def recalibrated(request):
    """60 forecasts of every family, by every recalibration, fitted on 300 others."""
    name, family = request.param
    forecast, y = make_forecast(family, 360, 11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(RECALIBRATIONS[name]).fit(forecast[:300], y[:300])
    return fitted.transform(forecast[300:])
