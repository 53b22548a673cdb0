"""Distribution calibration implies threshold calibration, and that average calibration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import (
    average_calibration_error,
    distribution_calibration_error,
    threshold_calibration_error,
)
from calibrant.forecasts import Normal

M = 25
LEAST = 1.0 / (4 * M)
"""The smallest average calibration error of M rows: PITs in the middles of M equal intervals."""


def population(mu, sigma, shift):
    """M rows for each forecast, whose outcomes lie at its quantiles (i - 1/2) / M + shift."""
    p = (np.arange(M) + 0.5) / M
    forecast = Normal(np.repeat(mu, M), np.repeat(sigma, M))
    levels = (np.tile(p, len(mu)) + np.repeat(shift, M)) % 1.0
    return forecast, forecast.ppf(levels)


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_distribution_calibrated_populations_are_threshold_and_average_calibrated(n, seed):
    rng = np.random.default_rng(seed)
    mu, sigma = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
    forecast, y = population(mu, sigma, np.zeros(n))
    found = distribution_calibration_error(forecast, y, n_bins=50)
    assert found == pytest.approx(LEAST, abs=1e-12)
    surface = threshold_calibration_error(
        forecast, y, thresholds=rng.normal(size=5), levels=rng.random(5), min_group_size=0
    )
    n_groups = (surface.n_lower > 0).astype(int) + (surface.n_upper > 0)
    np.testing.assert_allclose(surface.value, n_groups * LEAST, atol=1e-9)
    assert (surface.largest <= 2 * LEAST + 1e-9).all()
    assert average_calibration_error(forecast, y) == pytest.approx(LEAST, abs=1e-9)


def test_average_calibrated_populations_need_not_be_threshold_calibrated():
    # The low forecasts are half a unit of probability off, the high ones too: together uniform.
    forecast, y = population(np.array([-1.0, 1.0]), np.ones(2), np.zeros(2))
    wrong = y.copy()
    wrong[:M] = forecast[:M].ppf((np.arange(M) + 0.5) / (2 * M))
    wrong[M:] = forecast[M:].ppf(0.5 + (np.arange(M) + 0.5) / (2 * M))
    assert average_calibration_error(forecast, wrong) == pytest.approx(LEAST / 2, abs=1e-9)
    surface = threshold_calibration_error(
        forecast, wrong, thresholds=[0.0], levels=[0.5], min_group_size=0
    )
    # Each group's PITs are uniform on a half of [0, 1]: an area of 1/4 each, but for 1/M or so.
    assert surface.value[0, 0] == pytest.approx(0.5, abs=0.5 / M)
    assert distribution_calibration_error(forecast, wrong, n_bins=2) > 0.2
