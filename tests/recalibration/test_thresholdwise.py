"""Thresholdwise recalibration: beta calibration of F(y0) at every threshold, shrunken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special

import calibrant
from calibrant import (
    AverageRecalibration,
    BetaCalibration,
    ThresholdRecalibration,
    ThresholdwiseRecalibration,
    average_calibration_error,
    reliability_gap,
    threshold_calibration_error,
)
from calibrant.forecasts import Ensemble, Normal, concatenate
from calibrant.recalibration import Pinned

THRESHOLDS = np.linspace(-2.0, 2.0, 9)
RANKS = np.linspace(-3.0, 3.0, 101)


def data(n=600, seed=0):
    """Forecasts that are too narrow for high means and too wide for low ones."""
    rng = np.random.default_rng(seed)
    mu = rng.normal(size=n)
    return Normal(mu, 1.0), mu + np.where(mu > 0.0, 1.6, 0.5) * rng.normal(size=n)


def fitted(forecast, y, **parameters):
    options = {"recalibrations": [AverageRecalibration()], "thresholds": THRESHOLDS} | parameters
    return ThresholdwiseRecalibration(**options).fit(forecast, y)


def columns_of(versions):
    """1, and log p and -log(1 - p) of every version, (1 + 2K, n)."""
    p = np.clip(versions, 1e-4, 1 - 1e-4)
    pairs = [column for q in p for column in (np.log(q), -np.log1p(-q))]
    return np.stack([np.ones(p.shape[1]), *pairs])


def penalised(versions, z, weight, scale):
    """The maximum of the penalised likelihood, by a general optimiser."""
    columns = columns_of(versions)
    start = np.full(len(columns), 1.0 / len(versions))
    start[0] = 0.0

    def loss(theta):
        u = theta @ columns
        data = (weight * (np.logaddexp(0.0, u) - z * u)).sum()
        return data + ((theta - start) ** 2).sum() / (2 * scale**2)

    def slope(theta):
        miss = weight * (special.expit(theta @ columns) - z)
        return columns @ miss + (theta - start) / scale**2

    return optimize.minimize(loss, start, jac=slope, method="BFGS", tol=1e-10).x


@pytest.mark.parametrize("scale", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("n_recalibrations", [0, 1, 2])
def test_coefficients_maximise_the_penalised_likelihood(scale, n_recalibrations):
    forecast, y = data(300)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    recalibrations = [AverageRecalibration(), ThresholdRecalibration(tol=0.1)][:n_recalibrations]
    thresholds = THRESHOLDS[::4]
    recalibration = ThresholdwiseRecalibration(
        recalibrations, thresholds=thresholds, scale=scale
    ).fit(forecast, y, sample_weight=weight)
    versions = [forecast] + [
        first.fit(forecast, y, sample_weight=weight).transform(forecast) for first in recalibrations
    ]
    for threshold, coefficients in zip(thresholds, recalibration.coefficients_, strict=True):
        at = np.array([version.cdf(threshold) for version in versions])
        expected = penalised(at, y <= threshold, weight, scale)
        np.testing.assert_allclose(coefficients, expected, rtol=0, atol=5e-5)


def test_goes_through_the_calibrated_probabilities():
    forecast, y = data()
    recalibration = fitted(forecast, y)
    first = recalibration.recalibrations_[0].transform(forecast)
    new = recalibration.transform(forecast)
    expected = np.empty((len(THRESHOLDS), len(y)))
    for j, threshold in enumerate(THRESHOLDS):
        at = np.array([forecast.cdf(threshold), first.cdf(threshold)])
        blended = special.expit(recalibration.coefficients_[j] @ columns_of(at))
        expected[j] = np.where((at[0] > 0.0) & (at[0] < 1.0), blended, at[0])
    expected.sort(axis=0)
    np.testing.assert_allclose(new.cdf(THRESHOLDS[:, None]), expected, rtol=0, atol=1e-14)


def test_keeps_the_shape_between_thresholds():
    forecast, y = data()
    recalibration = fitted(forecast, y)
    first, new = (
        recalibration.recalibrations_[-1].transform(forecast),
        recalibration.transform(forecast),
    )
    points = np.linspace(-6.0, 6.0, 81)
    old = first.cdf(points[:, None])
    at = np.vstack([np.zeros(len(y)), first.cdf(THRESHOLDS[:, None]), np.ones(len(y))])
    values = np.vstack([np.zeros(len(y)), new.cdf(THRESHOLDS[:, None]), np.ones(len(y))])
    expected = np.array([np.interp(old[:, i], at[:, i], values[:, i]) for i in range(len(y))]).T
    np.testing.assert_allclose(new.cdf(points[:, None]), expected, rtol=0, atol=1e-12)


def test_alone_and_with_a_wide_scale_it_is_beta_calibration():
    forecast, y = data()
    new = fitted(forecast, y, recalibrations=[], thresholds=[0.5], scale=1e6)
    p = forecast.cdf(0.5)
    expected = BetaCalibration(eps=1e-4).fit(p, y <= 0.5).predict_proba(p)
    np.testing.assert_allclose(new.transform(forecast).cdf(0.5), expected, rtol=0, atol=1e-7)


def test_with_a_narrow_scale_it_is_the_mean_of_the_log_odds():
    forecast, y = data()
    recalibration = fitted(forecast, y, scale=1e-6)
    versions = forecast, recalibration.recalibrations_[0].transform(forecast)
    odds = [
        special.logit(np.clip(version.cdf(THRESHOLDS[:, None]), 1e-4, 1 - 1e-4))
        for version in versions
    ]
    inside = np.abs(odds).max(axis=0) < special.logit(1 - 1e-4) - 1e-9
    found = special.logit(recalibration.transform(forecast).cdf(THRESHOLDS[:, None]))
    np.testing.assert_allclose(found[inside], np.mean(odds, axis=0)[inside], rtol=0, atol=1e-6)


def test_is_better_on_new_rows():
    forecast, y = data(2000, seed=1)
    new_forecast, new_y = data(5000, seed=2)
    layers = ThresholdRecalibration(tol=0.05, max_iter=10).fit(forecast, y)
    recalibration = ThresholdwiseRecalibration([layers]).fit(forecast, y)
    before, after = (
        threshold_calibration_error(fit.transform(new_forecast), new_y).mean
        for fit in (layers, recalibration)
    )
    assert after < 0.97 * before


def test_quantiles_invert_the_cdf():
    forecast, y = data()
    new = fitted(forecast, y).transform(forecast)
    levels = np.concatenate([[1e-6], np.linspace(0.01, 0.99, 21), [1 - 1e-6]])[:, None]
    quantiles = new.ppf(levels)
    assert (np.diff(quantiles, axis=0) >= 0.0).all()
    np.testing.assert_allclose(
        new.cdf(quantiles), np.broadcast_to(levels, quantiles.shape), atol=1e-9
    )
    assert np.isneginf(new.ppf(0.0)).all()
    assert np.isposinf(new.ppf(1.0)).all()


def test_density_mean_and_score_are_those_of_the_cdf():
    forecast, y = data(6)
    values = forecast.cdf(THRESHOLDS[:, None]) ** 1.5
    new = Pinned(forecast, values.T, THRESHOLDS)
    fine = np.unique(np.concatenate([np.linspace(-9.0, 9.0, 40_001), THRESHOLDS]))
    cdf = new.cdf(fine[:, None])
    middle = (fine[:-1] + fine[1:]) / 2
    density = np.diff(cdf, axis=0) / np.diff(fine)[:, None]
    np.testing.assert_allclose(np.exp(new.logpdf(middle[:, None])), density, rtol=0, atol=1e-6)
    mean = 9.0 - integrate.trapezoid(cdf, fine, axis=0)
    np.testing.assert_allclose(new.mean(), mean, rtol=0, atol=1e-6)
    around = 2.0 * (fine[:, None] - mean) * np.where(fine[:, None] < mean, -cdf, 1.0 - cdf)
    std = np.sqrt(integrate.trapezoid(around, fine, axis=0))
    np.testing.assert_allclose(new.std(), std, rtol=0, atol=1e-6)
    squared = (cdf - (y <= fine[:, None])) ** 2
    expected = integrate.trapezoid(squared, fine, axis=0)
    np.testing.assert_allclose(new.crps(y), expected, rtol=0, atol=5e-4)


def test_integer_weights_are_repeated_rows_and_order_does_not_matter():
    forecast, y = data(200)
    weight = np.random.default_rng(3).integers(0, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    order = np.random.default_rng(4).permutation(len(repeated))
    options = {"thresholds": 30}
    once = ThresholdwiseRecalibration([AverageRecalibration()], **options).fit(
        forecast, y, sample_weight=weight
    )
    for rows in (repeated, repeated[order]):
        again = fitted(forecast[rows], y[rows], **options)
        np.testing.assert_allclose(again.thresholds_, once.thresholds_, rtol=1e-12)
        np.testing.assert_allclose(again.coefficients_, once.coefficients_, rtol=0, atol=1e-8)


def test_rows_one_by_one():
    forecast, y = data(50)
    new = fitted(forecast, y).transform(forecast)
    points = np.array([-3.0, -0.3, 0.0, 2.5])[:, None]
    for row in (0, 7, 49):
        np.testing.assert_array_equal(new[row].cdf(points)[:, 0], new.cdf(points)[:, row])
        np.testing.assert_array_equal(new[row].ppf(0.3), new.ppf(0.3)[row])
    both = concatenate([new[:20], new[20:]])
    np.testing.assert_array_equal(both.cdf(points), new.cdf(points))
    with pytest.raises(ValueError, match="recalibrated differently"):
        concatenate([new, fitted(forecast, y, thresholds=[0.0]).transform(forecast)])


@pytest.mark.filterwarnings("ignore:.*beyond all that the forecasts")
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(2, 40))
def test_any_steps_give_a_cdf(seed, n_members, n):
    rng = np.random.default_rng(seed)
    forecast = Ensemble(np.round(rng.normal(size=(n, n_members)), 1))
    y = np.round(rng.normal(size=n), 1)
    recalibration = ThresholdwiseRecalibration([AverageRecalibration()], thresholds=7)
    new = recalibration.fit(forecast, y).transform(forecast)
    points = np.concatenate([np.arange(-50, 51) / 10, recalibration.thresholds_])
    points = np.unique(points)[:, None]
    cdf, below = new.cdf(points), new.cdf_left(points)
    assert (cdf[0] == 0.0).all()
    assert (cdf[-1] == 1.0).all()
    assert (np.diff(cdf, axis=0) >= 0.0).all()
    assert (below <= cdf).all()
    assert (below[1:] >= cdf[:-1]).all()
    levels = np.linspace(0.05, 1.0, 20)[:, None]
    quantiles = new.ppf(levels)
    assert (new.cdf(quantiles) >= levels - 1e-12).all()
    assert (new.cdf_left(quantiles) <= levels + 1e-12).all()


def test_what_is_impossible_stays_so():
    n = 100
    members = np.tile([0.0, 1.0], (n, 1))
    y = np.random.default_rng(0).choice([-1.0, 0.0, 1.0, 2.0], n)
    new = fitted(Ensemble(members), y, thresholds=[-0.5, 0.5, 1.5]).transform(Ensemble(members))
    assert (new.cdf(-0.5) == 0.0).all()
    assert (new.cdf(1.5) == 1.0).all()
    np.testing.assert_array_equal(new.ppf(0.0001), np.zeros(n))


def test_default_thresholds_have_both_sides_of_frequent_outcomes():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.3, 1.0, rng.normal(size=3000))
    recalibration = fitted(Normal(np.zeros(3000), 1.0), y, thresholds=20)
    grid = recalibration.thresholds_
    assert len(grid) == 22
    assert 1.0 in grid
    assert np.nextafter(1.0, 0.0) in grid
    low, high = np.quantile(y, [0.002, 0.998])
    np.testing.assert_allclose([grid[0], grid[-1]], [low, high])
    new = recalibration.transform(Normal(np.zeros(3000), 1.0))
    jump = new.cdf(1.0) - new.cdf(np.nextafter(1.0, 0.0))
    np.testing.assert_allclose(jump, 0.3, atol=0.05)
    np.testing.assert_array_equal(new.cdf_left(1.0), new.cdf(np.nextafter(1.0, 0.0)))
    np.testing.assert_array_equal(new.ppf(new.cdf(1.0) - 0.1), np.ones(3000))


@pytest.mark.parametrize(
    "make", [Normal, lambda mu, sd: Ensemble(np.round(mu[:, None] + RANKS, 0))]
)
def test_whole_numbers_get_uniform_pits(make):
    rng = np.random.default_rng(0)
    mu = rng.normal(size=2000)
    y = np.round(mu + 0.7 * rng.normal(size=2000))
    recalibration = fitted(make(mu, 1.0), y, thresholds=50)
    new_mu = rng.normal(size=2000)
    new_y = np.round(new_mu + 0.7 * rng.normal(size=2000))
    new = recalibration.transform(make(new_mu, 1.0))
    options = {"method": "randomized", "random_state": 0}
    assert average_calibration_error(new, new_y, **options) < 0.02
    assert (new.cdf(new_y) - new.cdf_left(new_y)).mean() > 0.3


def test_default_versions():
    forecast, y = data(300)
    recalibration = ThresholdwiseRecalibration(random_state=7, thresholds=3).fit(forecast, y)
    average, layers = recalibration.recalibrations_
    assert average.to_dict() == AverageRecalibration(random_state=7).fit(forecast, y).to_dict()
    expected = ThresholdRecalibration(early_stopping=True, random_state=7).fit(forecast, y)
    assert layers.to_dict() == expected.to_dict()


def test_saved_and_loaded(tmp_path):
    forecast, y = data(300)
    recalibration = fitted(forecast, y)
    recalibration.save(tmp_path / "map.json")
    loaded = calibrant.load(tmp_path / "map.json")
    points = np.linspace(-3, 3, 11)[:, None]
    np.testing.assert_array_equal(
        loaded.transform(forecast).cdf(points), recalibration.transform(forecast).cdf(points)
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": 0.0}, "scale must be a finite number above 0, got 0.0"),
        ({"scale": "wide"}, "scale must be"),
        ({"recalibrations": ["average"]}, "recalibrations must be None or a sequence of recal"),
        ({"recalibrations": AverageRecalibration()}, "recalibrations must be None or a sequence"),
        ({"thresholds": 0}, "thresholds must be a number of at least 1"),
        ({"thresholds": [0.0, np.nan]}, "thresholds"),
    ],
)
def test_errors(parameters, message):
    forecast, y = data(50)
    with pytest.raises(ValueError, match=message):
        fitted(forecast, y, **parameters)


def test_few_rows():
    forecast, y = data(4)
    with pytest.raises(ValueError, match="4 rows are too few to choose the number of layers"):
        ThresholdwiseRecalibration().fit(forecast, y)


def test_decisions_cost_what_they_promise():
    """On rows it was fitted to, by the measure it is made for."""
    forecast, y = data(4000)
    new = fitted(forecast, y).transform(forecast)
    loss = calibrant.ThresholdLoss(0.5, below=(0.0, 1.0), above=(3.0, 0.0))
    assert reliability_gap(new, y, loss) < 0.4 * reliability_gap(forecast, y, loss)
