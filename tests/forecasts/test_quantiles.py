"""Forecasts by quantiles: twins by loops, closed forms against quadrature, tails, bad input."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from calibrant.forecasts import Forecast, Quantiles

LEVELS = np.array([0.05, 0.2, 0.5, 0.6, 0.9])
POINTS = np.array([-np.inf, -50.0, -4.0, -1.0, -0.3, 0.0, 0.5, 1.0, 2.25, 7.0, 60.0, np.inf])
PROBABILITIES = np.array([0.0, 1e-12, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.55, 0.9, 0.97, 1.0])


def tail_scales(p, q):
    low = p[0] * (q[1] - q[0]) / (p[1] - p[0])
    high = (1 - p[-1]) * (q[-1] - q[-2]) / (p[-1] - p[-2])
    return low, high


def brute_cdf(p, q, t, *, below=False):
    """The definition, piece by piece."""
    low, high = tail_scales(p, q)
    if t < q[0]:
        return p[0] * math.exp((t - q[0]) / low) if low else 0.0
    if t > q[-1]:
        return 1 - (1 - p[-1]) * math.exp(-(t - q[-1]) / high) if high else 1.0
    if t in q:
        levels = [level for level, x in zip(p, q, strict=True) if x == t]
        if below:
            return 0.0 if t == q[0] and not low else levels[0]
        return 1.0 if t == q[-1] and not high else levels[-1]
    k = next(k for k in range(len(q)) if q[k] > t)
    return p[k - 1] + (p[k] - p[k - 1]) * (t - q[k - 1]) / (q[k] - q[k - 1])


def brute_ppf(p, q, level):
    low, high = tail_scales(p, q)
    if level <= p[0]:
        if not low:
            return q[0]
        return q[0] + low * math.log(level / p[0]) if level else -math.inf
    if level > p[-1]:
        if not high:
            return q[-1]
        return q[-1] - high * math.log((1 - level) / (1 - p[-1])) if level < 1 else math.inf
    k = next(k for k in range(len(p)) if p[k] >= level)
    return q[k - 1] + (q[k] - q[k - 1]) * (level - p[k - 1]) / (p[k] - p[k - 1])


@st.composite
def tables(draw, *, point_masses=True):
    """Rows of quantiles that ascend by quarters, often not at all."""
    n = draw(st.integers(1, 4))
    steps = st.integers(0 if point_masses else 1, 3).map(lambda k: k / 4)
    row = st.lists(steps, min_size=len(LEVELS) - 1, max_size=len(LEVELS) - 1)
    rises = np.array(draw(st.lists(row, min_size=n, max_size=n)))
    start = np.array(draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), dtype=float)
    return np.cumsum(np.column_stack([start, rises]), axis=1)


# ---------------------------------------------------------------------- numbers


@settings(max_examples=60, deadline=None)
@given(tables())
def test_look_ups_are_those_of_loops(values):
    forecast = Quantiles(LEVELS, values)
    points = np.concatenate([POINTS, values.ravel()])
    cdf, left = forecast.cdf(points[:, None]), forecast.cdf_left(points[:, None])
    quantile = forecast.ppf(PROBABILITIES[:, None])
    for i, q in enumerate(values.tolist()):
        expected = [brute_cdf(LEVELS, q, t) for t in points]
        np.testing.assert_allclose(cdf[:, i], expected, rtol=0, atol=1e-14)
        expected = [brute_cdf(LEVELS, q, t, below=True) for t in points]
        np.testing.assert_allclose(left[:, i], expected, rtol=0, atol=1e-14)
        expected = [brute_ppf(LEVELS, q, p) for p in PROBABILITIES]
        np.testing.assert_allclose(quantile[:, i], expected, rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(tables(), st.floats(-30, 30))
def test_closed_forms_agree_with_quadrature(values, y):
    forecast = Quantiles(LEVELS, values)
    outcomes = np.full(len(values), y)
    close = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(forecast.mean(), Forecast.mean(forecast), **close)
    np.testing.assert_allclose(forecast.std() ** 2, Forecast.std(forecast) ** 2, **close)
    crps = Forecast.crps(forecast, outcomes)
    np.testing.assert_allclose(forecast.crps(outcomes), crps, **close)


@pytest.mark.parametrize("y", [-3.0, 0.0, 0.4, 2.0, 9.0])
def test_crps_is_the_integral(y):
    p, q = [0.1, 0.5, 0.9], [0.0, 1.0, 4.0]
    breaks = sorted([-20.0, *q, y, 80.0])
    expected = sum(
        integrate.quad(lambda t: (brute_cdf(p, q, t) - (t >= y)) ** 2, a, b, epsabs=1e-12)[0]
        for a, b in itertools.pairwise(breaks)
    )
    np.testing.assert_allclose(Quantiles(p, [q]).crps([y]), expected, rtol=1e-10)


def test_many_quantiles_come_close_to_the_distribution_they_are_of():
    levels = np.arange(1, 400) / 400
    forecast = Quantiles(levels, -np.log1p(-levels)[None])  # exponential
    assert forecast.mean()[0] == pytest.approx(1.0, abs=1e-3)
    assert forecast.std()[0] == pytest.approx(1.0, abs=1e-2)
    assert forecast.crps([1.0])[0] == pytest.approx(1.0 + 2.0 * math.exp(-1.0) - 1.5, abs=1e-4)


def test_density_is_the_slope_of_the_cdf():
    forecast = Quantiles([0.1, 0.5, 0.9], [[0.0, 1.0, 4.0], [-2.0, 0.0, 1.0]])
    t = np.array([-5.0, -0.5, 0.25, 0.75, 3.0, 6.0])[:, None]
    h = 1e-6
    slope = (forecast.cdf(t + h) - forecast.cdf(t - h)) / (2 * h)
    np.testing.assert_allclose(np.exp(forecast.logpdf(t)), slope, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(forecast.logpdf([[-np.inf], [np.inf]]), -np.inf)


def test_density_is_continuous_at_the_outermost_quantiles():
    forecast = Quantiles([0.1, 0.5, 0.9], [[0.0, 1.0, 4.0]])
    for end in (0.0, 4.0):
        below, above = forecast.logpdf([[np.nextafter(end, -9)], [np.nextafter(end, 9)]])
        np.testing.assert_allclose(below, above, rtol=1e-12)


# ---------------------------------------------------------------------- invariants


@settings(max_examples=60, deadline=None)
@given(tables(), st.lists(st.floats(1e-12, 1 - 1e-12), min_size=1, max_size=8))
def test_galois_inequalities(values, levels):
    forecast = Quantiles(LEVELS, values)
    p = np.array(levels)[:, None]
    assert (forecast.cdf(forecast.ppf(p)) >= p - 1e-12).all()
    t = np.concatenate([POINTS[2:-2], values.ravel()])[:, None]
    level = forecast.cdf(t)
    reached = (level > 0.0) & (level < 1.0 - 1e-6)  # nearer to 1 the level says less about t
    assert (forecast.ppf(level) <= t + 1e-9)[reached].all()


@settings(max_examples=40, deadline=None)
@given(tables())
def test_cdf_is_a_cdf_through_the_quantiles(values):
    forecast = Quantiles(LEVELS, values)
    t = np.sort(np.concatenate([POINTS, np.linspace(-9, 9, 37), values.ravel()]))[:, None]
    cdf, left = forecast.cdf(t), forecast.cdf_left(t)
    assert (np.diff(cdf, axis=0) >= 0.0).all()
    assert (np.diff(left, axis=0) >= 0.0).all()
    assert (left <= cdf).all()
    assert (cdf[0] == 0.0).all()
    assert (cdf[-1] == 1.0).all()
    np.testing.assert_array_equal(forecast.ppf(LEVELS[:, None]).T, values)
    for k, level in enumerate(LEVELS):
        assert (forecast.cdf(values[:, k]) >= level).all()
        assert (forecast.cdf_left(values[:, k]) <= level).all()


@settings(max_examples=40, deadline=None)
@given(tables(point_masses=False))
def test_ppf_inverts_a_continuous_cdf(values):
    forecast = Quantiles(LEVELS, values)
    p = PROBABILITIES[:, None]
    np.testing.assert_allclose(forecast.cdf(forecast.ppf(p)), np.broadcast_to(p, (12, len(values))))


@settings(max_examples=40, deadline=None)
@given(tables())
def test_batch_is_row_by_row(values):
    forecast = Quantiles(LEVELS, values)
    y = np.linspace(-4.0, 4.0, len(values))
    for i in range(len(values)):
        row = forecast[i]
        for name, at in (("cdf", POINTS), ("cdf_left", POINTS), ("ppf", PROBABILITIES)):
            whole = getattr(forecast, name)(at[:, None])[:, i]
            np.testing.assert_array_equal(getattr(row, name)(at[:, None])[:, 0], whole)
        assert row.crps(y[i : i + 1])[0] == forecast.crps(y)[i]
        assert row.mean()[0] == pytest.approx(forecast.mean()[i], abs=1e-14)
        assert row.std()[0] == pytest.approx(forecast.std()[i], abs=1e-14)


@settings(max_examples=30, deadline=None)
@given(tables(), st.sampled_from([0.25, 2.0, 1024.0]), st.integers(-5, 5))
def test_scale_and_shift(values, scale, shift):
    one, other = Quantiles(LEVELS, values), Quantiles(LEVELS, scale * values + shift)
    y = np.linspace(-4.0, 4.0, len(values))
    np.testing.assert_allclose(other.mean(), scale * one.mean() + shift, atol=1e-12 * scale)
    np.testing.assert_allclose(other.std(), scale * one.std(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        other.crps(scale * y + shift), scale * one.crps(y), rtol=1e-10, atol=1e-12 * scale
    )


# ---------------------------------------------------------------------- point masses, ends


def test_tails_collapse_into_point_masses():
    counts = Quantiles([0.1, 0.25, 0.5, 0.9], [[0.0, 0.0, 2.0, 2.0]])
    np.testing.assert_array_equal(
        counts.cdf([[-1e-9], [0.0], [1.0], [2.0], [3.0]])[:, 0], [0.0, 0.25, 0.375, 1.0, 1.0]
    )
    np.testing.assert_array_equal(counts.cdf_left([[0.0], [2.0], [2.1]])[:, 0], [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(
        counts.ppf([[0.0], [0.25], [0.375], [0.5], [1.0]])[:, 0], [0.0, 0.0, 1.0, 2.0, 2.0]
    )
    np.testing.assert_allclose(counts.mean(), 0.25 * 1.0 + 0.5 * 2.0)


def test_a_row_that_is_one_point():
    forecast = Quantiles([0.1, 0.5, 0.9], [[3.0, 3.0, 3.0]])
    np.testing.assert_array_equal(forecast.cdf([[2.9], [3.0]])[:, 0], [0.0, 1.0])
    np.testing.assert_array_equal(forecast.ppf([[0.0], [0.3], [1.0]])[:, 0], 3.0)
    assert forecast.mean()[0] == pytest.approx(3.0)
    assert forecast.std()[0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(forecast.crps([5.0]), 2.0)


def test_ends_of_the_levels_with_tails():
    forecast = Quantiles([0.1, 0.9], [[0.0, 8.0]])
    assert forecast.ppf(0.0)[0] == -np.inf
    assert forecast.ppf(1.0)[0] == np.inf
    np.testing.assert_allclose(forecast.ppf(0.1 * np.exp(-3.0)), -3.0)
    np.testing.assert_allclose(forecast.ppf(1.0 - 0.1 * np.exp(-3.0)), 11.0)


def test_point_masses_have_no_density():
    forecast = Quantiles([0.1, 0.5, 0.9], [[0.0, 1.0, 2.0], [0.0, 1.0, 1.0]])
    with pytest.raises(ValueError, match=r"values\[1\] is 1.0 at the levels 0.5 and 0.9.*1 row"):
        forecast.logpdf(0.0)
    np.testing.assert_allclose(forecast[0].logpdf(0.5), np.log(0.4))


# ---------------------------------------------------------------------- rows and frames


def test_rows_and_concatenation():
    forecast = Quantiles([0.1, 0.9], [[0.0, 1.0], [2.0, 3.0], [4.0, 6.0]])
    np.testing.assert_array_equal(forecast[[2, 0]].values, [[4.0, 6.0], [0.0, 1.0]])
    np.testing.assert_array_equal(forecast[-1].values, [[4.0, 6.0]])
    both = Quantiles._concatenated([forecast[:1], forecast[1:]])
    np.testing.assert_array_equal(both.values, forecast.values)
    with pytest.raises(ValueError, match="different levels cannot be concatenated"):
        Quantiles._concatenated([forecast, Quantiles([0.2, 0.9], [[0.0, 1.0]])])


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_frames_there_and_back(backend):
    forecast = Quantiles([0.025, 1 / 3, 0.9], [[0.0, 1.0, 2.0], [3.0, 4.0, 4.0]])
    frame = forecast.to_frame(backend)
    assert "q0.025" in (frame.columns if backend != "pyarrow" else frame.column_names)
    again = Quantiles.from_frame(frame)
    np.testing.assert_array_equal(again.levels, forecast.levels)
    np.testing.assert_array_equal(again.values, forecast.values)


def test_columns_may_have_any_names_and_order():
    frame = pl.DataFrame({"high": [3.0, 5.0], "queue": ["a", "b"], "q5": [1.0, 2.0]})
    forecast = Quantiles.from_frame(frame, {"high": 0.95, "q5": 0.05})
    np.testing.assert_array_equal(forecast.levels, [0.05, 0.95])
    np.testing.assert_array_equal(forecast.values, [[1.0, 3.0], [2.0, 5.0]])
    with pytest.raises(ValueError, match="no column 'low'"):
        Quantiles.from_frame(frame, {"high": 0.95, "low": 0.05})
    with pytest.raises(ValueError, match="no columns named q and a number"):
        Quantiles.from_frame(frame.select("high", "queue"))
    with pytest.raises(ValueError, match="must be a pandas, Polars or PyArrow"):
        Quantiles.from_frame([[1.0, 2.0]])


# ---------------------------------------------------------------------- bad input


def test_crossing_quantiles():
    crossed = [[0.0, 1.0, 2.0], [0.0, 3.0, 2.0]]
    with pytest.raises(
        ValueError,
        match=r"values\[1\] falls from 3.0 at level 0.5 to 2.0 at level 0.9 \(1 row .*sort=True",
    ):
        Quantiles([0.1, 0.5, 0.9], crossed)
    forecast = Quantiles([0.1, 0.5, 0.9], crossed, sort=True)
    np.testing.assert_array_equal(forecast.values, [[0.0, 1.0, 2.0], [0.0, 2.0, 3.0]])
    assert crossed[1] == [0.0, 3.0, 2.0]


@pytest.mark.parametrize(
    ("levels", "values", "message"),
    [
        ([0.5], [[1.0]], r"levels has shape \(1,\)"),
        ([[0.1, 0.5]], [[1.0, 2.0]], r"levels has shape \(1, 2\)"),
        ([0.0, 0.5], [[1.0, 2.0]], r"levels\[0\] is 0.0, not within \(0, 1\)"),
        ([5, 50], [[1.0, 2.0]], r"levels\[0\] is 5.0.*divide percentages"),
        ([0.5, 0.1], [[1.0, 2.0]], r"levels\[1\] is 0.1 after 0.5: sort"),
        ([0.5, 0.5], [[1.0, 2.0]], "strictly ascending"),
        ([0.1, np.nan], [[1.0, 2.0]], r"levels\[1\] is nan"),
        ([0.1, 0.5], [1.0, 2.0], r"values has shape \(2,\).*values\[None, :\]"),
        ([0.1, 0.5], [[1.0, 2.0, 3.0]], r"values has shape \(1, 3\): it must be \(n, 2\)"),
        ([0.1, 0.5], np.ones((0, 2)), "values is empty"),
        ([0.1, 0.5], [[1.0, np.nan]], r"values\[0, 1\] is nan"),
    ],
)
def test_bad_input(levels, values, message):
    with pytest.raises(ValueError, match=message):
        Quantiles(levels, values)
