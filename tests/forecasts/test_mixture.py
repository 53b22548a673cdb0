"""Mixtures: reference values, twins by quadrature and sampling, invariants, frames, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from calibrant.forecasts import (
    Ensemble,
    Forecast,
    Laplace,
    LogNormal,
    Mixture,
    Normal,
    StudentT,
    concatenate,
)

FILES = ["mixture_90", "protein_mixture_s1_200", "crime_mixture_s2_250"]
NAMES = ["mu", "sigma", "loc", "scale", "weight"]

N = 60
rng = np.random.default_rng(8)
MU, LOC, Y = rng.normal(size=(3, N))
SIGMA, SCALE = rng.uniform(0.05, 3.0, (2, N))
WEIGHT = rng.uniform(size=N)
FORECAST = Mixture.gaussian_laplace(MU, SIGMA, LOC, SCALE, WEIGHT)


def both(weight):
    return np.column_stack([weight, 1.0 - np.asarray(weight)])


# ---------------------------------------------------------------------- expected values


@pytest.mark.parametrize("name", FILES)
def test_reference(threshold_reference, name):
    content = threshold_reference(name)
    inputs = content["inputs"]
    forecast = Mixture.gaussian_laplace(**inputs["params"])
    assert_allclose(forecast.cdf(inputs["y"]), content["pit"], rtol=0, atol=1e-12)
    grid = np.array(content["t_grid"])[:, None]
    cdf = np.array(content["cdf_first_rows"])
    assert_allclose(forecast[: len(cdf)].cdf(grid).T, cdf, rtol=0, atol=1e-12)
    n = content["crps"]["rows"]
    score = forecast[:n].crps(inputs["y"][:n])
    assert_allclose(score, content["crps"]["value"], rtol=0, atol=1e-8)
    levels, quantiles = content["quantiles"]["p"], np.array(content["quantiles"]["value"])
    found = forecast[: len(quantiles)].ppf(np.array(levels)[:, None]).T
    assert_allclose(found, quantiles, rtol=0, atol=1e-9)


def test_cdf_is_the_weighted_sum():
    y = np.linspace(-4.0, 4.0, 33)[:, None]
    below = 0.5 * np.exp(-np.abs(y - LOC) / SCALE)
    laplace = np.where(y > LOC, 1.0 - below, below)
    expected = WEIGHT * special.ndtr((y - MU) / SIGMA) + (1.0 - WEIGHT) * laplace
    assert_allclose(FORECAST.cdf(y), expected, rtol=0, atol=1e-15)
    assert_array_equal(FORECAST.cdf(np.inf), np.ones(N))
    assert_array_equal(FORECAST.cdf(-np.inf), np.zeros(N))


def test_density_is_the_weighted_sum():
    density = WEIGHT * stats.norm.pdf(Y, MU, SIGMA) + (1.0 - WEIGHT) * stats.laplace.pdf(
        Y, LOC, SCALE
    )
    assert_allclose(FORECAST.logpdf(Y), np.log(density), rtol=1e-12, atol=1e-14)
    grid = np.array([[-1e3], [0.0], [1e3]])
    assert np.isfinite(FORECAST.logpdf(grid)).all()  # where a density itself is zero
    assert_array_equal(FORECAST[:2].logpdf(np.inf), [-np.inf, -np.inf])


def test_moments_agree_with_quadrature():
    assert_allclose(FORECAST.mean(), Forecast.mean(FORECAST), rtol=1e-11, atol=1e-12)
    assert_allclose(FORECAST.std(), Forecast.std(FORECAST), rtol=1e-11)


def test_moments_of_components_that_have_none():
    forecast = Mixture([[0.5, 0.5], [1.0, 0.0]], [Normal(1.0, 2.0), StudentT(1.5, 0.0, 1.0)])
    assert_array_equal(forecast.mean(), [0.5, 1.0])
    assert_array_equal(forecast.std(), [np.inf, 2.0])
    cauchy = Mixture([[0.5, 0.5], [1.0, 0.0]], [Normal(1.0, 2.0), StudentT(1.0, 0.0, 1.0)])
    assert_array_equal(cauchy.mean(), [np.inf, 1.0])
    assert_array_equal(cauchy.std(), [np.nan, 2.0])


def scored_by_quadrature(forecast, y):
    return Forecast.crps(forecast, np.asarray(y))


@pytest.mark.parametrize(
    "components",
    [
        [Normal(MU, SIGMA), Laplace(LOC, SCALE)],
        [Normal(MU, SIGMA), Normal(LOC, SCALE)],
        [Laplace(MU, SIGMA), Laplace(LOC, SCALE)],
        [Laplace(MU, SCALE), Laplace(LOC, SCALE)],
        [Laplace(LOC, SCALE), Laplace(LOC, SCALE)],
        [Laplace(MU, SCALE), Laplace(LOC, SCALE * (1.0 + 1e-9))],
        [Normal(MU, SIGMA), Laplace(MU, SIGMA)],
        [Normal(MU, 1e-3), Laplace(LOC, 1e3)],
        [Normal(MU, 1e3), Laplace(LOC, 1e-3)],
        [Laplace(MU, 1e-3), Laplace(LOC, 1e3)],
        [Normal(MU, SIGMA), Laplace(LOC, SCALE), Normal(-3.0, 0.5), Laplace(LOC, 2.0)],
    ],
)
def test_closed_form_scores_agree_with_quadrature(components):
    weights = np.random.default_rng(2).dirichlet(np.ones(len(components)), N)
    forecast = Mixture(weights, components)
    for y in (Y, np.full(N, -40.0), MU):
        assert_allclose(forecast.crps(y), scored_by_quadrature(forecast, y), rtol=1e-9, atol=1e-12)


def test_score_of_normals_agrees_with_scoringrules():
    rules = pytest.importorskip("scoringrules")
    forecast = Mixture(both(WEIGHT), [Normal(MU, SIGMA), Normal(LOC, SCALE)])
    m, s = np.column_stack([MU, LOC]), np.column_stack([SIGMA, SCALE])
    assert_allclose(forecast.crps(Y), rules.crps_mixnorm(Y, m, s, both(WEIGHT)), rtol=1e-11)


def test_score_does_not_depend_on_the_unit():
    for unit in (1e-150, 1e-8, 1e8, 1e150):
        scaled = Mixture.gaussian_laplace(MU * unit, SIGMA * unit, LOC * unit, SCALE * unit, WEIGHT)
        assert_allclose(scaled.crps(Y * unit) / unit, FORECAST.crps(Y), rtol=1e-12)


def test_other_components_are_scored_by_quadrature():
    forecast = Mixture([0.3, 0.7], [LogNormal(MU, 0.4), StudentT(4.0, LOC, 1.0)])
    members = Ensemble(forecast.ppf((np.arange(400)[:, None] + 0.5) / 400).T)
    assert_allclose(forecast.crps(Y), members.crps(Y), rtol=2e-3, atol=1e-3)


def test_a_component_alone():
    alone = Mixture([1.0], [Normal(MU, SIGMA)])
    for other in (alone, Mixture([1.0, 0.0], [Normal(MU, SIGMA), Laplace(LOC, SCALE)])):
        assert_allclose(other.crps(Y), Normal(MU, SIGMA).crps(Y), rtol=1e-12)
        assert_allclose(other.ppf(0.2), Normal(MU, SIGMA).ppf(0.2), rtol=1e-14)
        assert_array_equal(other.cdf(Y), Normal(MU, SIGMA).cdf(Y))


# ---------------------------------------------------------------------- quantiles


def test_quantiles_of_zero_and_one():
    positive = Mixture([0.5, 0.5], [LogNormal(0.0, 1.0), LogNormal(1.0, 2.0)])
    assert_array_equal(positive.ppf([[0.0], [1.0]]), [[0.0], [np.inf]])
    assert_array_equal(FORECAST[:1].ppf([[0.0], [1.0]]), [[-np.inf], [np.inf]])
    unused = Mixture([1.0, 0.0], [LogNormal(0.0, 1.0), Normal(0.0, 1.0)])
    assert_array_equal(unused.ppf(0.0), [0.0])


def test_quantiles_on_very_different_scales():
    forecast = Mixture(
        [0.5, 0.25, 0.25], [Normal(0.0, 1e-12), Normal(0.0, 1e6), Laplace(3.0, 1e-3)]
    )
    levels = np.array([1e-300, 1e-20, 0.01, 0.1, 0.3, 0.5, 0.6, 0.77, 1.0 - 1e-12])[:, None]
    quantiles = forecast.ppf(levels)
    assert_allclose(forecast.cdf(quantiles), levels, rtol=1e-12)
    # The wide component is flat around the narrow one.
    level = (0.3 - 0.25 * 0.5) / 0.5
    assert_allclose(forecast.ppf(0.3), 1e-12 * special.ndtri(level), rtol=1e-13)


def test_median_at_zero():
    forecast = Mixture([0.5, 0.5], [Normal([-1.0, -1e-9], 1.0), Normal([1.0, 1e-9], 1.0)])
    assert_allclose(forecast.ppf(0.5), 0.0, atol=1e-15)


def test_quantiles_between_components_far_apart():
    forecast = Mixture([0.25, 0.75], [Normal(-1e3, 1.0), Normal(1e3, 1.0)])
    y = forecast.ppf([[0.2], [0.25], [0.3]])
    assert_allclose(forecast.cdf(y)[:, 0], [0.2, 0.25, 0.3], rtol=1e-12)


def test_quantiles_of_steps_are_the_smallest():
    members = np.array([[0.0, 1.0, 2.0, 3.0], [5.0, 5.0, 6.0, 7.0]])
    forecast = Mixture([0.5, 0.5], [Ensemble(members), Ensemble(members + 0.5)])
    pooled = Ensemble(np.hstack([members, members + 0.5]))
    levels = (np.arange(1, 16) / 16.0)[:, None]
    assert_allclose(forecast.ppf(levels), pooled.ppf(levels), rtol=1e-15)
    assert_array_equal(forecast.cdf_left([1.0, 5.5]), pooled.cdf_left([1.0, 5.5]))
    assert_array_equal(forecast.cdf([1.0, 5.5]), pooled.cdf([1.0, 5.5]))


def test_many_quantiles_at_once():
    levels = np.random.default_rng(0).uniform(size=(3000, N))
    y = FORECAST.ppf(levels)
    assert_allclose(FORECAST.cdf(y), levels, rtol=1e-12)
    assert_array_equal(y[2999], FORECAST.ppf(levels[2999]))


# ---------------------------------------------------------------------- invariants

numbers = st.floats(-20.0, 20.0)
spreads = st.floats(0.001, 20.0)


@st.composite
def mixtures(draw):
    n, c = draw(st.integers(1, 4)), draw(st.integers(1, 4))

    def rows(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    components = [
        draw(st.sampled_from([Normal, Laplace]))(rows(numbers), rows(spreads)) for _ in range(c)
    ]
    counts = st.lists(st.integers(0, 5), min_size=c, max_size=c).filter(any)
    weights = np.array(rows(counts), dtype=float)
    return Mixture(weights / weights.sum(axis=1, keepdims=True), components)


@settings(max_examples=60, deadline=None)
@given(mixtures(), st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=8))
def test_cdf_rises_from_zero_to_one(forecast, points):
    cdf = forecast.cdf(np.sort(points)[:, None])
    assert cdf.shape == (len(points), len(forecast))
    assert ((cdf >= 0.0) & (cdf <= 1.0)).all()
    assert (np.diff(cdf, axis=0) >= -1e-15).all()


@settings(max_examples=100, deadline=None)
@given(mixtures(), st.lists(st.floats(1e-14, 1.0 - 1e-14), min_size=1, max_size=6))
def test_quantiles_invert_the_cdf(forecast, levels):
    p = np.array(levels)[:, None]
    y = forecast.ppf(p)
    slack = 4e-15 * (1.0 + np.abs(y) * np.exp(forecast.logpdf(y)))
    assert (np.abs(forecast.cdf(y) - p) <= slack).all()


@settings(max_examples=40, deadline=None)
@given(mixtures(), st.integers(0, 2**32))
def test_a_batch_is_its_rows(forecast, seed):
    y = np.random.default_rng(seed).normal(size=len(forecast)) * 5.0
    batch = forecast.cdf(y), forecast.crps(y), forecast.ppf(0.3), forecast.mean(), forecast.std()
    for i in range(len(forecast)):
        row, at = forecast[i], y[i : i + 1]
        single = row.cdf(at), row.crps(at), row.ppf(0.3), row.mean(), row.std()
        assert_allclose([value[i] for value in batch], np.ravel(single), rtol=1e-13, atol=1e-15)
    joined = concatenate([forecast[i] for i in range(len(forecast))])
    assert_array_equal(joined.cdf(y), forecast.cdf(y))


@settings(max_examples=40, deadline=None)
@given(mixtures(), st.integers(0, 2**32))
def test_scores_of_any_mixture_agree_with_quadrature(forecast, seed):
    y = np.random.default_rng(seed).normal(size=len(forecast)) * 5.0
    score = forecast.crps(y)
    assert (score >= 0.0).all()
    assert_allclose(score, scored_by_quadrature(forecast, y), rtol=1e-8, atol=1e-10)


def test_random_outcomes():
    draws = FORECAST[:3].rvs(20_000, random_state=5)
    assert_array_equal(draws, FORECAST[:3].rvs(20_000, random_state=5))
    for row in range(3):
        assert stats.kstest(FORECAST[:3].cdf(draws)[:, row], "uniform").pvalue > 1e-4


def test_rows_are_picked_like_those_of_an_array():
    cdf = FORECAST.cdf(Y)
    for rows in (slice(3, 50, 7), [5, 5, 0], np.arange(N) % 3 == 0, np.array([-1])):
        assert_array_equal(FORECAST[rows].cdf(Y[rows]), cdf[rows])
    assert_array_equal(FORECAST[-1].cdf(Y[-1]), cdf[-1:])
    with pytest.raises(IndexError):
        FORECAST[N]


# ---------------------------------------------------------------------- making one


def test_single_rows_and_shared_weights_are_meant_for_every_row():
    short = Mixture([0.25, 0.75], [Normal(1.0, 2.0), Laplace(LOC, SCALE)])
    long = Mixture(np.tile([0.25, 0.75], (N, 1)), [Normal(np.ones(N), 2.0), Laplace(LOC, SCALE)])
    assert len(short) == N
    assert_array_equal(short.crps(Y), long.crps(Y))
    by_weights = Mixture(both(WEIGHT), [Normal(1.0, 2.0), Laplace(0.0, 1.0)])
    assert len(by_weights) == N


def test_mixtures_of_mixtures_are_taken_apart():
    outer = Mixture([0.5, 0.5], [FORECAST, Normal(LOC, SIGMA)])
    flat = Mixture(
        np.column_stack([WEIGHT / 2.0, (1.0 - WEIGHT) / 2.0, np.full(N, 0.5)]),
        [Normal(MU, SIGMA), Laplace(LOC, SCALE), Normal(LOC, SIGMA)],
    )
    assert_array_equal(outer.crps(Y), flat.crps(Y))
    assert list(outer.parameters()) == list(flat.parameters())


def test_weights_of_float32_are_brought_to_one():
    weights = special.softmax(rng.normal(size=(N, 5)), axis=1).astype(np.float32)
    forecast = Mixture(weights, [Normal(c, 1.0) for c in range(5)])
    assert_allclose(forecast.weights.sum(axis=1), 1.0, rtol=0, atol=4e-16)
    assert_allclose(forecast.cdf(np.inf), 1.0, rtol=0, atol=4e-16)
    assert_array_equal(forecast[::2].weights, forecast.weights[::2])
    exact = Mixture([0.1] * 10, [Normal(c, 1.0) for c in range(10)])
    assert_array_equal(exact.weights[0], [0.1] * 10)


# ---------------------------------------------------------------------- parameters and frames


def test_parameters_of_the_gaussian_laplace_family():
    parameters = FORECAST.parameters()
    assert list(parameters) == NAMES
    for name, value in zip(NAMES, (MU, SIGMA, LOC, SCALE, WEIGHT), strict=True):
        assert_array_equal(parameters[name], value)


def test_names_of_other_parameters():
    normals = Mixture([0.5, 0.5], [Normal(0.0, 1.0), Normal(1.0, 1.0)])
    assert list(normals.parameters()) == ["mu0", "sigma0", "mu1", "sigma1", "weight"]
    three = Mixture([0.2, 0.3, 0.5], [Normal(0.0, 1.0), Laplace(1.0, 1.0), StudentT(3.0, 0.0, 1.0)])
    assert list(three.parameters()) == [
        "mu0", "sigma0", "loc1", "scale1", "df2", "loc2", "scale2", "weight0", "weight1", "weight2",
    ]  # fmt: skip
    assert list(Mixture([1.0], [Normal(0.0, 1.0)]).parameters()) == ["mu", "sigma"]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kinds", [(Normal, Laplace), (Laplace, Laplace), (Normal,), (Normal,) * 3])
def test_frames_hold_the_parameters(backend, kinds):
    weights = np.random.default_rng(4).dirichlet(np.ones(len(kinds)), N)
    forecast = Mixture(weights, [kind(MU + c, SIGMA) for c, kind in enumerate(kinds)])
    back = Mixture.from_frame(forecast.to_frame(backend), components=kinds)
    if len(kinds) == 1:
        back, forecast = back[:N], forecast[:N]
    assert_allclose(back.cdf(Y), forecast.cdf(Y), rtol=1e-14)


def test_frames_without_a_column():
    with pytest.raises(ValueError, match="frame has no column 'mu0'"):
        Mixture.from_frame(FORECAST.to_frame(), components=(Normal, Normal))


def test_mixtures_of_other_components_are_not_concatenated():
    with pytest.raises(ValueError, match="different components"):
        concatenate([FORECAST, Mixture(both(WEIGHT), [Laplace(LOC, SCALE), Normal(MU, SIGMA)])])


# ---------------------------------------------------------------------- bad input

PAIR = [Normal([0.0, 1.0], 1.0), Laplace([0.0, 1.0], 1.0)]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.6], "weights sum to 1.1, not to one within 1e-06"),
        ([0.5, 0.5 - 2e-6], "not to one"),
        ([[0.5, 0.5], [0.5, 0.4]], r"weights\[1\] sums to 0.9"),
        ([[0.5, 0.5], [1.5, -0.5]], r"weights\[1, 1\] is -0.5, negative"),
        ([np.nan, 1.0], r"weights\[0\] is nan"),
        ([0.2, 0.3, 0.5], r"weights has shape \(3,\) for 2 components"),
        ([[0.5], [0.5]], r"weights has shape \(2, 1\) for 2 components"),
        (0.5, r"weights has shape \(\) for 2 components"),
        ([[0.5, 0.5]] * 3, r"components\[0\] has 2 rows where 3 are needed"),
        (np.empty((0, 2)), "weights has 0 rows"),
        ("half", "weights has dtype"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        Mixture(weights, PAIR)


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ([], "components is .*: it must be a sequence of forecasts"),
        (PAIR[0], "it must be a sequence of forecasts"),
        (None, "it must be a sequence of forecasts"),
        ([PAIR[0], stats.norm(0.0, 1.0)], r"components\[1\] is of type .*as_forecast"),
        ([PAIR[0], Laplace([0.0, 1.0, 2.0], 1.0)], r"components\[0\] has 2 rows where 3 are"),
    ],
)
def test_bad_components(components, message):
    with pytest.raises(ValueError, match=message):
        Mixture([0.5, 0.5], components)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weight", [0.5, 1.5], r"weight\[1\] is 1.5"),
        ("weight", [-0.5, 0.5], r"weight\[0\] is -0.5"),
        ("weight", [[0.5], [0.5]], r"weight has shape \(2, 1\)"),
        ("weight", [0.5, 0.5, 0.5], "different lengths"),
        ("sigma", [1.0, -1.0], r"sigma\[1\] is .*not positive"),
        ("scale", 0.0, r"scale\[0\] is .*not positive"),
        ("loc", [np.nan, 0.0], r"loc\[0\] is nan"),
        ("mu", [], "different lengths|is empty"),
    ],
)
def test_bad_parameters(name, value, message):
    parameters = {"mu": [0.0, 1.0], "sigma": 1.0, "loc": [0.0, 1.0], "scale": 1.0, "weight": 0.5}
    with pytest.raises(ValueError, match=message):
        Mixture.gaussian_laplace(**parameters | {name: value})
