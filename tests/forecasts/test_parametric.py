"""Laplace, t and log-normal forecasts: against SciPy, quadrature, peers and invariants."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from calibrant.forecasts import Forecast, Laplace, LogNormal, Normal, StudentT, concatenate

N = 200
rng = np.random.default_rng(31)
LOC, SCALE = 3.0 * rng.normal(size=N), rng.uniform(0.1, 4.0, N)
DF, SIGMA = rng.uniform(1.2, 40.0, N), rng.uniform(0.05, 1.5, N)
Y = 6.0 * rng.normal(size=N)

FAMILIES = {
    "normal": (Normal(LOC, SCALE), stats.norm(LOC, SCALE), Y),
    "laplace": (Laplace(LOC, SCALE), stats.laplace(LOC, SCALE), Y),
    "student_t": (StudentT(DF, LOC, SCALE), stats.t(DF, LOC, SCALE), Y),
    "log_normal": (LogNormal(LOC, SIGMA), stats.lognorm(SIGMA, scale=np.exp(LOC)), np.abs(Y)),
}
LEVELS = np.array([0.0, 1e-200, 1e-16, 0.001, 0.3, 0.5, 0.7, 0.999, 1.0 - 1e-15, 1.0])[:, None]

every_family = pytest.mark.parametrize("name", FAMILIES)


@every_family
def test_agrees_with_scipy(name):
    forecast, frozen, y = FAMILIES[name]
    grid = np.linspace(-60.0, 60.0, 25)[:, None]
    assert_allclose(forecast.cdf(grid), frozen.cdf(grid), rtol=1e-12, atol=0)
    assert_allclose(forecast.cdf(y), frozen.cdf(y), rtol=1e-13)
    assert_array_equal(forecast.cdf_left(y), forecast.cdf(y))
    assert_allclose(forecast.logpdf(y), frozen.logpdf(y), rtol=1e-13, atol=1e-13)
    assert_allclose(forecast.mean(), frozen.mean(), rtol=1e-13)
    assert_allclose(forecast.std(), frozen.std(), rtol=1e-13)


@every_family
def test_quantiles_agree_with_scipy(name):
    forecast, frozen, _ = FAMILIES[name]
    # SciPy's own quantile of t is infinite with the wrong sign this far out for a few df.
    expected = frozen.ppf(LEVELS)
    known = (LEVELS > 1e-100) | (expected < 0.0) | (name != "student_t")
    assert_allclose(forecast.ppf(LEVELS)[known], expected[known], rtol=1e-13)


@every_family
def test_infinite_points(name):
    forecast, _, _ = FAMILIES[name]
    assert_array_equal(forecast.cdf(-np.inf), np.zeros(N))
    assert_array_equal(forecast.cdf(np.inf), np.ones(N))
    assert_array_equal(forecast.logpdf([[-np.inf], [np.inf]]), np.full((2, N), -np.inf))


@every_family
def test_score_agrees_with_quadrature(name):
    forecast, _, y = FAMILIES[name]
    if name == "student_t":
        heavy = DF < 3.0  # quadrature leaves their tails out
        forecast, y = forecast[~heavy], y[~heavy]
    assert_allclose(forecast.crps(y), Forecast.crps(forecast, y), rtol=1e-8)


def test_scores_agree_with_scoringrules():
    rules = pytest.importorskip("scoringrules")
    assert_allclose(Laplace(LOC, SCALE).crps(Y), rules.crps_laplace(Y, LOC, SCALE), rtol=1e-12)
    assert_allclose(StudentT(DF, LOC, SCALE).crps(Y), rules.crps_t(Y, DF, LOC, SCALE), rtol=1e-11)
    assert_allclose(
        LogNormal(LOC, SIGMA).crps(np.abs(Y)),
        rules.crps_lognormal(np.abs(Y), LOC, SIGMA),
        rtol=1e-10,
    )


def test_lower_tails_keep_their_relative_accuracy():
    assert_allclose(Laplace(0.0, 1.0).cdf(-600.0), 0.5 * np.exp(-600.0), rtol=1e-14)
    assert_allclose(Laplace(0.0, 1.0).ppf(1e-300), np.log(2.0) - 300.0 * np.log(10.0))
    assert_allclose(StudentT(3.0, 0.0, 1.0).ppf(1e-30), stats.t.ppf(1e-30, 3.0), rtol=1e-13)


def test_t_with_many_degrees_of_freedom_is_normal():
    y = np.linspace(-5.0, 5.0, 11)
    wide, normal = StudentT(np.full(11, 1e13), 0.5, 2.0), Normal(np.full(11, 0.5), 2.0)
    assert_allclose(wide.cdf(y), normal.cdf(y), rtol=1e-11)
    assert_allclose(wide.logpdf(y), normal.logpdf(y), rtol=1e-11)
    assert_allclose(wide.crps(y), normal.crps(y), rtol=1e-11)


@pytest.mark.parametrize("df", [19.99, 20.01, 39.99, 40.01, 500.0, 2e4])
def test_density_of_t_on_both_sides_of_the_series(df):
    exact = {  # Gamma((df + 1) / 2) / (Gamma(df / 2) sqrt(pi df)), computed with 40 digits
        19.99: 0.39398612512448933, 20.01: 0.393991043857409, 39.99: 0.39645630527441605,
        40.01: 0.3964575438157003, 500.0: 0.3987428592536204, 2e4: 0.39893729365409697,
    }  # fmt: skip
    assert_allclose(np.exp(StudentT(df, 0.0, 1.0).logpdf(0.0)), exact[df], rtol=1e-14)


def test_t_without_moments():
    forecast = StudentT([0.5, 1.0, 1.5, 2.0, 3.0], 1.0, 2.0)
    assert_array_equal(forecast.mean(), [np.inf, np.inf, 1.0, 1.0, 1.0])
    assert_allclose(forecast.std(), [np.nan, np.nan, np.inf, np.inf, 2.0 * np.sqrt(3.0)])
    with pytest.raises(ValueError, match="df\\[0\\] is 0.5: crps needs more than one degree"):
        forecast.crps(np.zeros(5))
    assert np.isfinite(forecast[2:].crps(np.zeros(3))).all()


def test_outcomes_far_away_are_scored_by_their_distance():
    far = np.array([1e200])
    for forecast in (Laplace(0.0, 1.0), StudentT(3.0, 0.0, 1.0), LogNormal(0.0, 1.0)):
        assert_allclose(forecast.crps(far), far, rtol=1e-12)
        assert_allclose(forecast.crps(-far), far, rtol=1e-12)


def test_log_normal_is_the_exponential_of_a_normal():
    log_normal, normal = FAMILIES["log_normal"][0], Normal(LOC, SIGMA)
    assert_array_equal(log_normal.cdf(np.exp(LOC + 1.0)), normal.cdf(np.log(np.exp(LOC + 1.0))))
    assert_array_equal(log_normal.cdf([[0.0], [-1.0]]), np.zeros((2, N)))
    assert_array_equal(log_normal.logpdf([[0.0], [-1.0]]), np.full((2, N), -np.inf))
    assert_array_equal(log_normal.ppf(0.0), np.zeros(N))


def test_log_normal_scores_with_a_mean_beyond_the_doubles():
    forecast = LogNormal(0.0, 38.0)
    assert forecast.mean() == np.inf or forecast.mean() > 1e300
    # E|Y - Y'| / 2 is e^(sigma^2 / 2) erf(sigma / 2): the score at the median stays below it.
    tail = np.exp(38.0**2 / 2.0 + stats.norm.logcdf(-38.0 / np.sqrt(2.0)))
    inside = np.exp(38.0**2 / 2.0 + stats.norm.logcdf(-38.0))
    assert_allclose(forecast.crps([1.0]), 2.0 * (tail - inside), rtol=1e-11)


# ---------------------------------------------------------------------- invariants

numbers = st.floats(-50.0, 50.0)
spreads = st.floats(0.01, 20.0)


@st.composite
def forecasts(draw):
    n = draw(st.integers(1, 5))

    def rows(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    kind = draw(st.sampled_from([Laplace, LogNormal, StudentT]))
    if kind is StudentT:
        return StudentT(rows(st.floats(1.1, 100.0)), rows(numbers), rows(spreads))
    if kind is LogNormal:
        return LogNormal(rows(st.floats(-5.0, 5.0)), rows(st.floats(0.05, 3.0)))
    return Laplace(rows(numbers), rows(spreads))


@settings(max_examples=60, deadline=None)
@given(forecasts(), st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8))
def test_cdf_rises_from_zero_to_one(forecast, points):
    cdf = forecast.cdf(np.sort(points)[:, None])
    assert cdf.shape == (len(points), len(forecast))
    assert ((cdf >= 0.0) & (cdf <= 1.0)).all()
    assert (np.diff(cdf, axis=0) >= -1e-15).all()


@settings(max_examples=60, deadline=None)
@given(forecasts(), st.lists(st.floats(1e-12, 1.0 - 1e-12), min_size=1, max_size=6))
def test_quantiles_invert_the_cdf(forecast, levels):
    p = np.array(levels)[:, None]
    y = forecast.ppf(p)
    # A quantile is rounded, which the density turns into an error of the CDF.
    slack = 4e-15 * (1.0 + np.abs(y) * np.exp(forecast.logpdf(y)))
    assert (np.abs(forecast.cdf(y) - p) <= slack + 1e-13 * p).all()


@settings(max_examples=40, deadline=None)
@given(forecasts(), st.integers(0, 2**32))
def test_a_batch_is_its_rows(forecast, seed):
    y = np.random.default_rng(seed).normal(size=len(forecast)) * 5.0
    batch = forecast.cdf(y), forecast.logpdf(y), forecast.crps(y), forecast.mean(), forecast.std()
    for i in range(len(forecast)):
        row, at = forecast[i], y[i : i + 1]
        single = row.cdf(at), row.logpdf(at), row.crps(at), row.mean(), row.std()
        assert_allclose([value[i] for value in batch], np.ravel(single), rtol=1e-14)
    joined = concatenate([forecast[i] for i in range(len(forecast))])
    assert_array_equal(joined.crps(y), forecast.crps(y))


@every_family
def test_random_outcomes_follow_the_forecast(name):
    forecast = FAMILIES[name][0][:3]
    draws = forecast.rvs(20_000, random_state=5)
    assert_array_equal(draws, forecast.rvs(20_000, random_state=5))
    for row in range(3):
        assert stats.kstest(forecast.cdf(draws)[:, row], "uniform").pvalue > 1e-4


@every_family
def test_rows_are_picked_like_those_of_an_array(name):
    forecast, _, y = FAMILIES[name]
    cdf = forecast.cdf(y)
    for rows in (slice(3, 90, 7), [5, 5, 0], np.arange(N) % 3 == 0, np.array([-1])):
        assert_array_equal(forecast[rows].cdf(y[rows]), cdf[rows])
    assert_array_equal(forecast[-1].cdf(y[-1]), cdf[-1:])


@every_family
@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_hold_the_parameters(name, backend):
    forecast = FAMILIES[name][0]
    back = type(forecast).from_frame(forecast.to_frame(backend))
    for key, value in forecast.parameters().items():
        assert_array_equal(back.parameters()[key], value)


# ---------------------------------------------------------------------- bad input

WORKING = {
    Laplace: {"loc": [0.0, 1.0], "scale": [1.0, 2.0]},
    StudentT: {"df": [3.0, 4.0], "loc": [0.0, 1.0], "scale": [1.0, 2.0]},
    LogNormal: {"mu": [0.0, 1.0], "sigma": [1.0, 2.0]},
}
EVERY_PARAMETER = [(kind, name) for kind, names in WORKING.items() for name in names]
POSITIVE = [(kind, name) for kind, name in EVERY_PARAMETER if name in ("df", "scale", "sigma")]


@pytest.mark.parametrize(("kind", "name"), POSITIVE)
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_parameters_that_must_be_positive(kind, name, value):
    with pytest.raises(ValueError, match=rf"{name}\[1\] is .*not positive"):
        kind(**WORKING[kind] | {name: [1.0, value]})


@pytest.mark.parametrize(("kind", "name"), EVERY_PARAMETER)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, np.nan], r"{name}\[1\] is nan"),
        ([1.0, np.inf], r"{name}\[1\] is inf"),
        ([[1.0], [2.0]], r"{name} has shape \(2, 1\): .* shape \(n,\)"),
        ([1.0, 2.0, 3.0], "different lengths"),
        (["a", "b"], "{name} has dtype"),
        (None, "{name} has dtype"),
    ],
)
def test_other_bad_parameters(kind, name, value, message):
    with pytest.raises(ValueError, match=message.format(name=name)):
        kind(**WORKING[kind] | {name: value})


@pytest.mark.parametrize("kind", WORKING)
def test_no_rows(kind):
    with pytest.raises(ValueError, match="is empty"):
        kind(**{name: [] for name in WORKING[kind]})


@pytest.mark.parametrize("kind", WORKING)
def test_bad_points(kind):
    forecast = kind(**WORKING[kind])
    with pytest.raises(ValueError, match=r"y\[1\] is nan"):
        forecast.cdf([0.0, np.nan])
    with pytest.raises(ValueError, match="y has shape \\(3,\\) for 2 forecasts"):
        forecast.logpdf([0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="p is 1.5"):
        forecast.ppf(1.5)
    with pytest.raises(ValueError, match="y has 3 outcomes for 2 forecasts"):
        forecast.crps([0.0, 1.0, 2.0])


def test_parameters_in_series_and_float32():
    series = Laplace(pd.Series([0.0, 1.0]), pl.Series([1.0, 2.0]))
    assert_array_equal(series.cdf(0.5), Laplace([0.0, 1.0], [1.0, 2.0]).cdf(0.5))
    single = Laplace(np.float32([0.0, 1.0]), np.float32(0.1))
    assert single.cdf(0.5).dtype == np.float64
