"""Scores, coverage, and calibration in cells of parameters."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import (
    average_calibration_error,
    crps,
    distribution_calibration_error,
    interval_coverage,
    log_score,
)
from calibrant.forecasts import Ensemble, Normal, StudentT


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    mu, sigma = rng.normal(size=200), rng.uniform(0.5, 2.0, size=200)
    return Normal(mu, sigma), mu + sigma * rng.normal(size=200), rng.integers(0, 4, size=200)


def test_mean_scores_and_their_weights(sample):
    forecast, y, weight = sample
    assert crps(forecast, y) == pytest.approx(forecast.crps(y).mean(), rel=1e-14)
    assert log_score(forecast, y) == pytest.approx(-forecast.logpdf(y).mean(), rel=1e-14)
    rows = np.repeat(np.arange(200), weight)
    for score in (crps, log_score, distribution_calibration_error):
        repeated = score(forecast[rows], y[rows])
        kept = weight > 0
        weighted = score(forecast[kept], y[kept], sample_weight=weight[kept])
        assert weighted == pytest.approx(repeated, abs=1e-12)


def test_reference_scores(case):
    content, forecast, y = case
    if "crps" in content:
        rows = content["crps"]["rows"]
        expected = content["crps"]["value"]
        np.testing.assert_allclose(forecast[:rows].crps(y[:rows]), expected, rtol=0, atol=1e-8)
        assert crps(forecast[:rows], y[:rows]) == pytest.approx(np.mean(expected), abs=1e-8)


def test_true_distribution_scores_best(sample):
    forecast, y, _ = sample
    for other in (Normal(forecast.mu + 1.0, forecast.sigma), Normal(forecast.mu, 5.0)):
        assert crps(forecast, y) < crps(other, y)
        assert log_score(forecast, y) < log_score(other, y)


def test_log_score_needs_a_density():
    with pytest.raises(ValueError, match="Ensemble has no density"):
        log_score(Ensemble([[0.0, 1.0]]), [0.0])


def test_distribution_error_is_the_mean_over_cells():
    rng = np.random.default_rng(1)
    mu = np.repeat([0.0, 1.0, 3.0], [50, 30, 20])
    y = rng.normal(mu)
    forecast = Normal(mu, 0.7)
    parts = [average_calibration_error(forecast[mu == m], y[mu == m]) for m in (0.0, 1.0, 3.0)]
    found = distribution_calibration_error(forecast, y, n_bins=3)
    assert found == pytest.approx(np.dot([0.5, 0.3, 0.2], parts), abs=1e-14)
    assert distribution_calibration_error(forecast, y, n_bins=1) == pytest.approx(
        average_calibration_error(forecast, y), abs=1e-14
    )


def test_distribution_error_over_standard_deviations_or_variances():
    rng = np.random.default_rng(2)
    sigma = np.array([1.0, 1.9, 3.0]).repeat(40)
    y = rng.normal(0.0, 1.0, size=120)
    forecast = Normal(0.0 * sigma, sigma)
    same, apart = (
        distribution_calibration_error(forecast, y, n_bins=2, spread=spread)
        for spread in ("sd", "variance")
    )
    # 1.9 lies below the middle of 1 and 3, and 3.61 below that of 1 and 9: the same cells; 2.2 not.
    assert same == apart
    forecast = Normal(0.0 * sigma, np.where(sigma == 1.9, 2.2, sigma))
    same, apart = (
        distribution_calibration_error(forecast, y, n_bins=2, spread=spread)
        for spread in ("sd", "variance")
    )
    assert same != apart


def test_coverage_counts_outcomes(sample):
    forecast, y, weight = sample
    table = interval_coverage(forecast, y, confidence=[0.0, 0.5, 0.9, 1.0])
    low, high = forecast.interval(0.9)
    assert table.coverage[2] == pytest.approx(np.mean((low <= y) & (y <= high)))
    assert table.mean_width[2] == pytest.approx(np.mean(high - low))
    assert table.below[2] == np.mean(y < low)
    assert table.above[2] == np.mean(y > high)
    assert table.coverage[0] == 0.0
    assert table.coverage[3] == 1.0
    rows = np.repeat(np.arange(200), weight)
    weighted = interval_coverage(forecast, y, sample_weight=weight)
    repeated = interval_coverage(forecast[rows], y[rows])
    for name, column in repeated.to_dict().items():
        np.testing.assert_allclose(getattr(weighted, name), column, atol=1e-12)
    assert table.to_frame("polars").columns == [
        "confidence", "coverage", "below", "above", "mean_width",
    ]  # fmt: skip
    assert "0.9" in repr(table)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (crps, {"y": [0.0]}, "y has 1 outcomes for 2 forecasts"),
        (log_score, {"y": [0.0, np.inf]}, r"y\[1\] is inf"),
        (interval_coverage, {"confidence": 0.9}, "confidence has shape"),
        (interval_coverage, {"confidence": [2.0]}, r"confidence\[0\] is 2.0"),
        (distribution_calibration_error, {"n_bins": 0}, "n_bins must be an integer"),
        (distribution_calibration_error, {"spread": "var"}, "spread must be one of sd, variance"),
    ],
)
def test_bad_input(function, options, message):
    arguments = {"y": [0.0, 1.0], **options}
    with pytest.raises(ValueError, match=message):
        function(StudentT(5.0, [0.0, 1.0], 1.0), **arguments)
