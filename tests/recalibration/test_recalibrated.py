"""A recalibrated forecast is a forecast: of every family, by every recalibration."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from calibrant import AverageRecalibration, ThresholdRecalibration
from calibrant.forecasts import Ensemble, Forecast, Normal, Quantiles, concatenate

from .conftest import make_forecast

POINTS = np.concatenate([[-np.inf], np.linspace(-6.0, 6.0, 41), [np.inf]])[:, None]
LEVELS = np.array([0.0, 0.01, 0.1, 0.3, 0.5, 0.77, 0.99, 1.0])[:, None]


def test_cdf_ascends_from_zero_to_one(recalibrated):
    cdf = recalibrated.cdf(POINTS)
    assert cdf.shape == (43, 60)
    assert (np.diff(cdf, axis=0) >= 0.0).all()
    assert (cdf[0] == 0.0).all()
    assert (cdf[-1] == 1.0).all()
    left = recalibrated.cdf_left(POINTS)
    assert (left <= cdf).all()
    assert (left[1:] >= cdf[:-1]).all()


def test_ppf_is_the_smallest_point_that_reaches_the_level(recalibrated):
    quantiles = recalibrated.ppf(LEVELS)
    assert (np.diff(quantiles, axis=0) >= 0.0).all()
    for p, q in zip(LEVELS[1:-1, 0], quantiles[1:-1], strict=True):
        slack = 1e-9 * np.maximum(1.0, np.abs(q))
        # An outcome far in a tail makes the map steep there, which magnifies rounding.
        assert (recalibrated.cdf(q + slack) >= p - 1e-7).all()
        assert (recalibrated.cdf_left(q - slack) <= p + 1e-7).all()


def test_rows_are_independent(recalibrated):
    y = np.linspace(-2.0, 2.0, 60)
    rows = [3, 59, 0, 3]
    for name in ("cdf", "ppf"):
        points = y if name == "cdf" else (y + 2.5) / 5.0
        together = getattr(recalibrated, name)(points)
        np.testing.assert_array_equal(
            getattr(recalibrated[rows], name)(points[rows]), together[rows]
        )
        alone = [getattr(recalibrated[i], name)(points[i])[0] for i in range(60)]
        np.testing.assert_allclose(alone, together, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(recalibrated.crps(y)[rows], recalibrated[rows].crps(y[rows]))
    joined = concatenate([recalibrated[:20], recalibrated[20:]])
    np.testing.assert_array_equal(joined.cdf(y), recalibrated.cdf(y))


def test_draws_and_intervals_come_from_the_distribution(recalibrated):
    draws = recalibrated.rvs(400, random_state=1)
    np.testing.assert_array_equal(draws, recalibrated.rvs(400, random_state=1))
    low, high = recalibrated.interval(0.8)
    inside = ((draws >= low) & (draws <= high)).mean()
    assert 0.77 < inside < (1.01 if isinstance(recalibrated.base, Ensemble) else 0.85)
    assert recalibrated.rvs(random_state=0).shape == (60,)


def test_mean_std_and_crps_are_those_of_the_draws(recalibrated):
    draws = recalibrated.rvs(4000, random_state=2)
    spread = recalibrated.std()
    assert np.abs(draws.mean(axis=0) - recalibrated.mean()).max() < 6.0 * spread.max() / 60.0
    y = np.linspace(-1.0, 1.0, 60)
    pairs = np.abs(draws[:2000] - draws[2000:]).mean(axis=0)
    score = np.abs(draws - y).mean(axis=0) - pairs / 2.0
    assert np.abs(score - recalibrated.crps(y)).max() < 6.0 * spread.max() / 40.0


@pytest.mark.parametrize("kind", [AverageRecalibration, ThresholdRecalibration])
def test_moments_and_score_are_the_integrals_of_the_cdf(kind):
    forecast, y = make_forecast("normal", 120, 3)
    options = {} if kind is AverageRecalibration else {"tol": 0.0, "max_iter": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        new = kind(**options).fit(forecast, y).transform(forecast)[:3]
    for row in range(3):
        one, outcome = new[row], y[row]
        kinks = np.sort(np.concatenate([one._panel_edges()[:, 0], [outcome]]))

        # Between kinks all is smooth: eight points in each quarter of a piece are plenty.
        quarters = np.interp(np.arange(4 * len(kinks) - 3) / 4, np.arange(len(kinks)), kinks)
        nodes, shares = np.polynomial.legendre.leggauss(8)
        half = np.diff(quarters)[:, None] / 2
        t, width = (quarters[:-1, None] + half * (1 + nodes)).ravel(), (half * shares).ravel()
        cdf = one.cdf(t[:, None])[:, 0]
        mean = kinks[-1] - width @ cdf
        std = np.sqrt((kinks[-1] - mean) ** 2 - 2.0 * width @ ((t - mean) * cdf))
        score = width @ (cdf - (outcome <= t)) ** 2
        assert one.mean()[0] == pytest.approx(mean, abs=1e-8)
        assert one.std()[0] == pytest.approx(std, abs=1e-7)
        assert one.crps([outcome])[0] == pytest.approx(score, abs=1e-8)


def test_levels_inside_keep_finite_quantiles():
    # Outcomes so far out that their PITs are next to 0 and 1.
    forecast = Normal(np.zeros(50), 1.0)
    new = AverageRecalibration().fit(forecast, np.linspace(-38.0, 8.2, 50)).transform(forecast)
    levels = np.array([1e-300, 1e-3, 0.999, np.nextafter(1.0, 0.0)])[:, None]
    assert np.isfinite(new.ppf(levels)).all()
    assert np.isfinite(new.rvs(1000, random_state=0)).all()
    assert (np.abs(new.ppf([[0.0], [1.0]])) == np.inf).all()


def test_ensembles_stay_ensembles():
    forecast, y = make_forecast("ensemble", 200, 4)
    new = AverageRecalibration().fit(forecast, y).transform(forecast)
    steps = new.cdf(forecast.members.T).T
    weights = np.diff(steps, axis=1, prepend=0.0)
    expected = Ensemble(forecast.members, weights)
    np.testing.assert_allclose(new.crps(y), expected.crps(y), atol=1e-12)
    np.testing.assert_allclose(new.mean(), expected.mean(), atol=1e-12)
    np.testing.assert_allclose(new.std(), expected.std(), atol=1e-12)


def test_many_knots_cost_little_accuracy(monkeypatch):
    forecast, y = make_forecast("normal", 5000, 5)
    new = AverageRecalibration().fit(forecast, y).transform(forecast)[:40]
    rough = new.crps(y[:40])
    monkeypatch.setattr("calibrant.recalibration.recalibrated._MAX_KNOTS", 10_000)
    exact = new.crps(y[:40])
    assert (rough != exact).any()
    assert np.abs(rough - exact).max() < 5e-4
    assert abs(rough.mean() - exact.mean()) < 5e-5


def test_density_integrates_to_the_cdf():
    forecast, y = make_forecast("laplace", 60, 6)
    new = AverageRecalibration().fit(forecast, y).transform(forecast)[0]
    edges = np.unique(new._panel_edges()[:, 0])
    middles, widths = (edges[1:] + edges[:-1]) / 2.0, np.diff(edges)
    inside = np.abs(middles) < 5.0
    density = np.exp(new.logpdf(middles[:, None])[:, 0])
    steps = np.diff(new.cdf(edges[:, None])[:, 0])
    np.testing.assert_allclose((density * widths)[inside], steps[inside], rtol=0.3, atol=1e-4)


def test_quantiles_as_frame():
    forecast, y = make_forecast("normal", 60, 7)
    new = AverageRecalibration().fit(forecast, y).transform(forecast)
    read = Quantiles.from_frame(new.to_frame("polars"))
    np.testing.assert_allclose(read.ppf(0.25), new.ppf(0.25))
    with pytest.raises(ValueError, match=r"Quantiles\.from_frame"):
        type(new).from_frame(new.to_frame("polars"))


def test_recalibrations_can_follow_one_another():
    forecast, y = make_forecast("normal", 400, 8)
    first = AverageRecalibration().fit(forecast, y).transform(forecast)
    second = AverageRecalibration().fit(first, y).transform(first)
    assert isinstance(second, Forecast)
    assert list(second.parameters()) == ["mu", "sigma"]
    np.testing.assert_allclose(second.cdf(second.ppf(0.3)), 0.3, atol=1e-12)


def test_scipy_forecasts_go_in_as_they_are():
    from scipy import stats

    forecast, y = make_forecast("normal", 80, 9)
    frozen = stats.norm(forecast.mu, forecast.sigma)
    fitted = AverageRecalibration().fit(frozen, y)
    np.testing.assert_allclose(
        fitted.transform(frozen).cdf(y), fitted.transform(forecast).cdf(y), atol=1e-14
    )
    assert isinstance(fitted.transform(frozen).base, Normal | Forecast)
