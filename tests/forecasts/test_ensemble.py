"""Ensembles: reference values, twins by loops, weights against repetition, and bad input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.forecasts import Ensemble, Forecast

EPS = np.finfo(np.float64).eps


def brute_cdf(members, weights, t, *, below=False):
    """The exact weight of the members at most (or below) t, as a fraction of all weight."""
    inside = [w for x, w in zip(members, weights, strict=True) if x < t or (x == t and not below)]
    return sum(map(Fraction, inside), Fraction(0)) / sum(map(Fraction, weights))


def brute_crps(members, weights, y):
    pairs = list(zip(members, weights, strict=True))
    total = sum(weights)
    error = sum(w * abs(x - y) for x, w in pairs) / total
    spread = sum(w * v * abs(x - z) for x, w in pairs for z, v in pairs) / total**2
    return error - spread / 2


@st.composite
def ensembles(draw, *, weighted=None):
    """Members on a lattice of halves, so that ties abound, and whole-number weights or None."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    lattice = st.integers(-6, 6).map(lambda k: k / 2)
    members = draw(st.lists(st.lists(lattice, min_size=m, max_size=m), min_size=n, max_size=n))
    if weighted is None:
        weighted = draw(st.booleans())
    if not weighted:
        return np.array(members), None
    row = st.lists(st.integers(0, 3), min_size=m, max_size=m).filter(any)
    return np.array(members), np.array(draw(st.lists(row, min_size=n, max_size=n)))


def forecast_of(members, counts):
    if counts is None:
        return Ensemble(members)
    return Ensemble(members, counts / counts.sum(axis=1, keepdims=True))


def weights_of(members, counts):
    return np.ones(members.shape, dtype=int) if counts is None else counts


POINTS = np.array([-np.inf, -9.0, -3.0, -0.5, -0.25, 0.0, 1.0, 1.5, 3.0, np.inf])
LEVELS = np.array([0.0, 0.05, 0.2, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.9, 1.0])


# ---------------------------------------------------------------------- numbers


def test_reference(threshold_reference):
    expected = threshold_reference("ensemble_100_m20")
    forecast = Ensemble(expected["inputs"]["params"]["members"])
    y = np.array(expected["inputs"]["y"])
    grid = np.array(expected["t_grid"])[:, None]
    first = forecast[: len(expected["cdf_first_rows"])]
    np.testing.assert_array_equal(first.cdf(grid).T, expected["cdf_first_rows"])
    np.testing.assert_array_equal(first.cdf_left(grid).T, expected["cdf_left_first_rows"])
    np.testing.assert_array_equal(forecast.cdf(y), expected["pit"])
    np.testing.assert_array_equal(forecast.cdf_left(y), expected["pit_left_limit"])
    np.testing.assert_allclose(forecast.crps(y), expected["crps"]["value"], rtol=0, atol=1e-12)
    levels = np.array(expected["quantiles"]["p"])[:, None]
    values = np.array(expected["quantiles"]["value"])
    np.testing.assert_allclose(forecast[: len(values)].ppf(levels).T, values, rtol=0, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(ensembles())
def test_cdf_and_ppf_are_those_of_loops(case):
    members, counts = case
    forecast, weights = forecast_of(members, counts), weights_of(members, counts)
    cdf, left = forecast.cdf(POINTS[:, None]), forecast.cdf_left(POINTS[:, None])
    quantile = forecast.ppf(LEVELS[:, None])
    for i, (row, w) in enumerate(zip(members, weights.tolist(), strict=True)):
        for j, t in enumerate(POINTS):
            assert cdf[j, i] == pytest.approx(float(brute_cdf(row, w, t)), abs=1e-15)
            assert left[j, i] == pytest.approx(float(brute_cdf(row, w, t, below=True)), abs=1e-15)
        positive = sorted(x for x, v in zip(row, w, strict=True) if v)
        for j, p in enumerate(LEVELS):
            reached = [x for x in positive if float(brute_cdf(row, w, x)) >= p]
            assert quantile[j, i] == reached[0]


@settings(max_examples=60, deadline=None)
@given(ensembles(), st.floats(-5, 5))
def test_crps_and_moments(case, y):
    members, counts = case
    forecast, weights = forecast_of(members, counts), weights_of(members, counts)
    outcomes = np.full(len(members), y)
    expected = [brute_crps(x, w, y) for x, w in zip(members, weights, strict=True)]
    np.testing.assert_allclose(forecast.crps(outcomes), expected, rtol=0, atol=1e-12)
    assert (forecast.crps(outcomes) >= 0.0).all()
    mean = np.array([np.average(x, weights=w) for x, w in zip(members, weights, strict=True)])
    square = [
        np.average((x - a) ** 2, weights=w) for x, w, a in zip(members, weights, mean, strict=True)
    ]
    np.testing.assert_allclose(forecast.mean(), mean, rtol=0, atol=1e-13)
    np.testing.assert_allclose(forecast.std(), np.sqrt(square), rtol=0, atol=1e-13)


@settings(max_examples=30, deadline=None)
@given(ensembles(), st.floats(-5, 5))
def test_closed_forms_agree_with_quadrature(case, y):
    forecast = forecast_of(*case)
    outcomes = np.full(len(forecast), y)
    np.testing.assert_allclose(forecast.mean(), Forecast.mean(forecast), rtol=0, atol=1e-12)
    np.testing.assert_allclose(forecast.std() ** 2, Forecast.std(forecast) ** 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        forecast.crps(outcomes), Forecast.crps(forecast, outcomes), rtol=0, atol=1e-12
    )


def test_crps_far_from_a_narrow_ensemble_keeps_its_digits():
    members = 1e6 + np.array([[0.0, 1e-3, 2e-3]])
    narrow = Ensemble(members - 1e6).crps([1e-3])
    np.testing.assert_allclose(Ensemble(members).crps([1e6 + 1e-3]), narrow, rtol=1e-6)


# ---------------------------------------------------------------------- invariants


@settings(max_examples=60, deadline=None)
@given(ensembles(), st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_galois_inequalities(case, levels):
    forecast = forecast_of(*case)
    m = forecast.members.shape[1]
    p = np.array(levels)[:, None]
    cdf_there = forecast.cdf(forecast.ppf(p))
    assert (cdf_there >= p * (1.0 - (m + 4) * EPS)).all()
    t = POINTS[1:-1, None]
    level = forecast.cdf(t)
    inside = level > 0.0  # the quantile of level 0 is the smallest member, not minus infinity
    assert (forecast.ppf(level) <= t)[inside].all()


@settings(max_examples=40, deadline=None)
@given(ensembles())
def test_cdf_is_a_cdf(case):
    forecast = forecast_of(*case)
    t = np.sort(np.concatenate([POINTS, forecast.members.ravel()]))[:, None]
    cdf, left = forecast.cdf(t), forecast.cdf_left(t)
    assert (np.diff(cdf, axis=0) >= 0.0).all()
    assert (left <= cdf).all()
    assert (cdf[0] == 0.0).all()
    assert (cdf[-1] == 1.0).all()
    assert (forecast.cdf(forecast.members.max(axis=1)) == 1.0).all()
    assert (forecast.cdf_left(forecast.members.min(axis=1)) == 0.0).all()


@settings(max_examples=40, deadline=None)
@given(ensembles(weighted=True), st.floats(-5, 5))
def test_whole_number_weights_are_repeated_members(case, y):
    members, counts = case
    for x, w in zip(members, counts, strict=True):
        weighted = forecast_of(x[None], w[None])
        repeated = Ensemble(np.repeat(x, w)[None])
        t, p = POINTS[:, None], LEVELS[:, None]
        np.testing.assert_allclose(weighted.cdf(t), repeated.cdf(t), rtol=0, atol=1e-15)
        np.testing.assert_allclose(weighted.cdf_left(t), repeated.cdf_left(t), rtol=0, atol=1e-15)
        np.testing.assert_array_equal(weighted.ppf(p), repeated.ppf(p))
        for one, other in (
            (weighted.mean(), repeated.mean()),
            (weighted.std(), repeated.std()),
            (weighted.crps([y]), repeated.crps([y])),
        ):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(ensembles(), st.randoms())
def test_order_of_members_is_irrelevant(case, random):
    members, counts = case
    order = list(range(members.shape[1]))
    random.shuffle(order)
    one = forecast_of(members, counts)
    other = forecast_of(members[:, order], None if counts is None else counts[:, order])
    np.testing.assert_array_equal(one.members, other.members)
    t = POINTS[:, None]
    np.testing.assert_allclose(one.cdf(t), other.cdf(t), rtol=0, atol=1e-15)


@settings(max_examples=40, deadline=None)
@given(ensembles())
def test_batch_is_row_by_row(case):
    forecast = forecast_of(*case)
    y = np.linspace(-2.0, 2.0, len(forecast))
    for i in range(len(forecast)):
        row = forecast[i]
        assert len(row) == 1
        np.testing.assert_array_equal(
            row.cdf(POINTS[:, None])[:, 0], forecast.cdf(POINTS[:, None])[:, i]
        )
        np.testing.assert_array_equal(
            row.ppf(LEVELS[:, None])[:, 0], forecast.ppf(LEVELS[:, None])[:, i]
        )
        assert row.cdf(y[i])[0] == forecast.cdf(y)[i]
        assert row.crps(y[i : i + 1])[0] == pytest.approx(forecast.crps(y)[i], abs=1e-15)


# ---------------------------------------------------------------------- steps and rounding


@pytest.mark.parametrize("m", [1, 3, 7, 10, 20, 49, 1000])
def test_steps_are_correctly_rounded_and_found_again(m):
    forecast = Ensemble(np.arange(m)[None, ::-1])
    k = np.arange(1, m + 1)
    np.testing.assert_array_equal(forecast.cdf(k[:, None] - 1.0)[:, 0], k / m)
    np.testing.assert_array_equal(forecast.ppf((k / m)[:, None])[:, 0], k - 1)
    weighted = Ensemble(np.arange(m)[None, ::-1], np.full(m, 1.0 / m))
    np.testing.assert_array_equal(weighted.ppf((k / m)[:, None])[:, 0], k - 1)
    np.testing.assert_array_equal(weighted.cdf([m - 1.0]), 1.0)


def test_levels_that_are_off_by_rounding():
    forecast = Ensemble(np.arange(1.0, 21.0)[None])
    levels = np.linspace(0.05, 0.95, 19)
    assert (levels != np.arange(1, 20) / 20).any()
    np.testing.assert_array_equal(forecast.ppf(levels[:, None])[:, 0], np.arange(1.0, 20.0))
    low, high = forecast.interval(0.7)
    assert (low[0], high[0]) == (3.0, 17.0)
    assert forecast.ppf(0.15 + 1e-12)[0] == 4.0


def test_zero_weights_change_nothing():
    forecast = Ensemble([[9.0, 1.0, -9.0, 3.0]], [0.0, 0.25, 0.0, 0.75])
    plain = Ensemble([[1.0, 3.0]], [0.25, 0.75])
    t, p = POINTS[:, None], LEVELS[:, None]
    np.testing.assert_array_equal(forecast.cdf(t), plain.cdf(t))
    np.testing.assert_array_equal(forecast.ppf(p), plain.ppf(p))
    assert forecast.ppf(0.0) == 1.0
    assert forecast.ppf(1.0) == 3.0
    np.testing.assert_allclose(forecast.crps([2.0]), plain.crps([2.0]), atol=1e-15)
    np.testing.assert_array_equal(forecast.members, [[-9.0, 1.0, 3.0, 9.0]])
    np.testing.assert_array_equal(forecast.weights, [[0.0, 0.25, 0.75, 0.0]])


def test_shapes_of_points_and_levels():
    forecast = Ensemble([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for look_up in (forecast.cdf, forecast.cdf_left, forecast.ppf):
        assert look_up(0.5).shape == (3,)
        assert look_up([0.0, 0.5, 1.0]).shape == (3,)
        assert look_up([[0.0], [1.0]]).shape == (2, 3)
        assert look_up(np.full((2, 3), 0.5)).shape == (2, 3)
    assert forecast.rvs(4, random_state=0).shape == (4, 3)
    assert np.isin(forecast.rvs(random_state=0), forecast.members).all()
    with pytest.raises(ValueError, match="y has shape .2,. for 3 forecasts"):
        forecast.cdf([1.0, 2.0])
    with pytest.raises(ValueError, match="Ensemble has no density"):
        forecast.logpdf(1.0)


def test_parameters_are_mean_and_std():
    forecast = Ensemble([[1.0, 3.0], [2.0, 2.0]])
    parameters = forecast.parameters()
    assert list(parameters) == ["mean", "std"]
    np.testing.assert_array_equal(parameters["mean"], [2.0, 2.0])
    np.testing.assert_array_equal(parameters["std"], [1.0, 0.0])


def test_float32_members_are_compared_as_they_are():
    members = np.array([[0.1, 0.2]], dtype=np.float32)
    forecast = Ensemble(members)
    assert forecast.members.dtype == np.float64
    np.testing.assert_array_equal(forecast.cdf(np.float64(np.float32(0.1))), [0.5])


# ---------------------------------------------------------------------- rows and frames


@pytest.mark.parametrize("weights", [None, [0.2, 0.3, 0.5]])
@pytest.mark.parametrize(
    "rows", [slice(1, 3), [2, 0], np.array([True, False, True, False]), -1, np.int64(1)]
)
def test_row_indexing(weights, rows):
    forecast = Ensemble(np.arange(12.0).reshape(4, 3)[:, [1, 2, 0]], weights)
    picked = forecast[rows]
    np.testing.assert_array_equal(picked.members, np.atleast_2d(forecast.members[rows]))
    if weights is not None:
        np.testing.assert_array_equal(picked.weights, np.atleast_2d(forecast.weights[rows]))
    with pytest.raises(IndexError):
        forecast[4]


def test_concatenation():
    one, other = Ensemble([[2.0, 1.0]]), Ensemble([[0.0, 5.0]], [0.1, 0.9])
    both = Ensemble._concatenated([one, one])
    assert both.weights is None
    assert len(both) == 2
    mixed = Ensemble._concatenated([one, other])
    np.testing.assert_array_equal(mixed.weights, [[0.5, 0.5], [0.1, 0.9]])
    np.testing.assert_array_equal(mixed.cdf(1.0), [0.5, 0.1])
    with pytest.raises(ValueError, match="ensembles of 2 and 3 members .* weight 0"):
        Ensemble._concatenated([one, Ensemble([[1.0, 2.0, 3.0]])])


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("weights", [None, [0.25, 0.75, 0.0]])
def test_frames_there_and_back(backend, weights):
    forecast = Ensemble([[3.0, 1.0, 2.0], [0.0, 0.5, -1.0]], weights)
    again = Ensemble.from_frame(forecast.to_frame(backend))
    np.testing.assert_array_equal(again.members, forecast.members)
    if weights is None:
        assert again.weights is None
    else:
        np.testing.assert_array_equal(again.weights, forecast.weights)


def test_columns_of_members_are_found_by_prefix_and_number():
    frame = pl.DataFrame(
        {"m10": [1.0], "P2": [3.0], "P10": [1.0], "P1": [2.0], "obs": [9.0], "Pmax": [99.0]}
    )
    forecast = Ensemble.from_frame(frame, prefix="P")
    np.testing.assert_array_equal(forecast.members, [[1.0, 2.0, 3.0]])
    weighted = pd.DataFrame({"m10": [1.0], "m9": [0.0], "w9": [0.2], "w10": [0.8]})
    np.testing.assert_array_equal(Ensemble.from_frame(weighted).cdf(0.0), [0.2])
    with pytest.raises(ValueError, match="no columns named 'x' and a number.*it has m10"):
        Ensemble.from_frame(frame, prefix="x")
    with pytest.raises(ValueError, match="must be a pandas, Polars or PyArrow"):
        Ensemble.from_frame([[1.0]])


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("members", "weights", "message"),
    [
        ([[1.0, 2.0], [np.nan, 1.0]], None, r"members\[1, 0\] is missing .*drop.* weight 0"),
        ([[1.0, np.inf]], None, r"members\[0, 1\] is inf"),
        ([1.0, 2.0], None, r"members has shape \(2,\).*members\[None, :\]"),
        (np.ones((0, 3)), None, "members is empty"),
        (np.ones((3, 0)), None, r"members has shape \(3, 0\)"),
        ([["a", "b"]], None, "members has dtype"),
        ([[1.0, 2.0]], [0.5], r"weights has shape \(1,\) for members of shape \(1, 2\)"),
        ([[1.0, 2.0]], [[0.5, 0.5]] * 2, r"weights has shape \(2, 2\)"),
        ([[1.0, 2.0]], [1.5, -0.5], r"weights\[1\] is -0.5"),
        ([[1.0, 2.0]] * 2, [[0.5, 0.5], [1.5, -0.5]], r"weights\[1, 1\] is -0.5"),
        ([[1.0, 2.0]], [1.0, 1.0], "weights sums to 2.0.*divide"),
        ([[1.0, 2.0]] * 2, [[0.5, 0.5], [0.5, 0.4]], r"weights\[1\] sums to 0.9"),
        ([[1.0, 2.0]], [0.5, np.nan], r"weights\[1\] is nan"),
    ],
)
def test_bad_input(members, weights, message):
    with pytest.raises(ValueError, match=message):
        Ensemble(members, weights)
