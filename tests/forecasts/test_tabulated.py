"""Tabulated CDFs: twins by loops, closed forms against quadrature, the point mass, bad input."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.forecasts import Ensemble, Forecast, Tabulated

GRID = np.array([-2.0, -1.0, 0.0, 0.5, 4.0])
POINTS = np.array([-np.inf, -3.0, -2.0, -1.7, -1.0, 0.0, 0.2, 0.5, 3.0, 4.0, 5.0, np.inf])
PROBABILITIES = np.array([0.0, 1e-9, 0.1, 0.125, 0.3, 0.5, 0.7, 0.875, 0.99, 1.0])


def brute_cdf(cdf, t, *, below=False):
    if t < GRID[0] or (below and t == GRID[0]):
        return 0.0
    if t >= GRID[-1]:
        return 1.0
    k = next(k for k in range(len(GRID)) if GRID[k] > t)
    return cdf[k - 1] + (cdf[k] - cdf[k - 1]) * (t - GRID[k - 1]) / (GRID[k] - GRID[k - 1])


def brute_ppf(cdf, p):
    if p == 0.0:  # the end of the outcomes that cannot happen
        return max([GRID[0], *(x for x, f in zip(GRID, cdf, strict=True) if f == 0.0)])
    k = next(k for k in range(len(GRID)) if cdf[k] >= p)
    if k == 0:
        return GRID[0]
    return GRID[k - 1] + (GRID[k] - GRID[k - 1]) * (p - cdf[k - 1]) / (cdf[k] - cdf[k - 1])


@st.composite
def tables(draw):
    """CDFs in steps of an eighth, with plateaus, and often a point mass at the first point."""
    n = draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 8), min_size=len(GRID) - 1, max_size=len(GRID) - 1).map(sorted)
    cdf = np.array(draw(st.lists(row, min_size=n, max_size=n))) / 8
    return np.column_stack([cdf, np.ones(n)])


# ---------------------------------------------------------------------- numbers


@settings(max_examples=60, deadline=None)
@given(tables())
def test_look_ups_are_those_of_loops(table):
    forecast = Tabulated(GRID, table)
    cdf, left = forecast.cdf(POINTS[:, None]), forecast.cdf_left(POINTS[:, None])
    quantile = forecast.ppf(PROBABILITIES[:, None])
    for i, row in enumerate(table.tolist()):
        expected = [brute_cdf(row, t) for t in POINTS]
        np.testing.assert_allclose(cdf[:, i], expected, rtol=0, atol=1e-15)
        expected = [brute_cdf(row, t, below=True) for t in POINTS]
        np.testing.assert_allclose(left[:, i], expected, rtol=0, atol=1e-15)
        expected = [brute_ppf(row, p) for p in PROBABILITIES]
        np.testing.assert_allclose(quantile[:, i], expected, rtol=0, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(tables(), st.floats(-6, 6))
def test_closed_forms_agree_with_quadrature(table, y):
    forecast = Tabulated(GRID, table)
    outcomes = np.full(len(table), y)
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(forecast.mean(), Forecast.mean(forecast), **close)
    np.testing.assert_allclose(forecast.std() ** 2, Forecast.std(forecast) ** 2, **close)
    crps = Forecast.crps(forecast, outcomes)
    np.testing.assert_allclose(forecast.crps(outcomes), crps, **close)


def test_uniform():
    forecast = Tabulated([1.0, 3.0], [[0.0, 1.0]])
    np.testing.assert_allclose(forecast.mean(), 2.0)
    np.testing.assert_allclose(forecast.std(), 2.0 / np.sqrt(12.0))
    np.testing.assert_allclose(forecast.crps([2.0]), 2.0 / 12.0)
    np.testing.assert_allclose(forecast.crps([0.0]), 1.0 + 2.0 / 3.0)
    np.testing.assert_allclose(forecast.crps([4.0]), 1.0 + 2.0 / 3.0)
    np.testing.assert_allclose(forecast.logpdf([[1.0], [2.0], [3.0]]), np.log(0.5))
    np.testing.assert_array_equal(forecast.logpdf([[0.9], [3.1], [-np.inf], [np.inf]]), -np.inf)


def test_steep_pieces_come_close_to_an_ensemble():
    members = np.array([[-1.0, 0.5, 0.5, 3.0]])
    grid = np.concatenate([x + np.array([-1e-9, 0.0]) for x in [-1.0, 0.5, 3.0]])
    ensemble = Ensemble(members)
    forecast = Tabulated(grid, [[0.0, 0.25, 0.25, 0.75, 0.75, 1.0]])
    for y in (-2.0, 0.0, 0.5, 2.0, 5.0):
        np.testing.assert_allclose(forecast.crps([y]), ensemble.crps([y]), atol=1e-8)
    np.testing.assert_allclose(forecast.mean(), ensemble.mean(), atol=1e-8)
    np.testing.assert_allclose(forecast.std(), ensemble.std(), atol=1e-8)


def test_density_is_the_slope_and_that_of_the_piece_above_at_a_kink():
    forecast = Tabulated([0.0, 1.0, 3.0], [[0.0, 0.5, 1.0]])
    np.testing.assert_allclose(
        np.exp(forecast.logpdf([[0.0], [0.5], [1.0], [2.0], [3.0]])[:, 0]),
        [0.5, 0.5, 0.25, 0.25, 0.25],
    )
    assert Tabulated([0.0, 1.0, 2.0], [[0.0, 0.0, 1.0]]).logpdf(0.5)[0] == -np.inf


# ---------------------------------------------------------------------- invariants


@settings(max_examples=60, deadline=None)
@given(tables(), st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_galois_inequalities(table, levels):
    forecast = Tabulated(GRID, table)
    p = np.array(levels)[:, None]
    assert (forecast.cdf(forecast.ppf(p)) >= p - 1e-14).all()
    t = POINTS[2:-2, None]
    level = forecast.cdf(t)
    assert (forecast.ppf(level) <= t + 1e-14)[level > 0.0].all()


@settings(max_examples=40, deadline=None)
@given(tables())
def test_cdf_is_a_cdf_through_the_table(table):
    forecast = Tabulated(GRID, table)
    t = np.sort(np.concatenate([POINTS, np.linspace(-3, 5, 41)]))[:, None]
    cdf, left = forecast.cdf(t), forecast.cdf_left(t)
    assert (np.diff(cdf, axis=0) >= 0.0).all()
    assert (left <= cdf).all()
    assert (cdf[0] == 0.0).all()
    assert (cdf[-1] == 1.0).all()
    np.testing.assert_array_equal(forecast.cdf(GRID[:, None]).T, table)
    np.testing.assert_array_equal(forecast.cdf_left(GRID[1:, None]).T, table[:, 1:])


@settings(max_examples=40, deadline=None)
@given(tables())
def test_batch_is_row_by_row(table):
    forecast = Tabulated(GRID, table)
    y = np.linspace(-4.0, 5.0, len(table))
    for i in range(len(table)):
        row = forecast[i]
        for name, at in (("cdf", POINTS), ("cdf_left", POINTS), ("ppf", PROBABILITIES)):
            whole = getattr(forecast, name)(at[:, None])[:, i]
            np.testing.assert_array_equal(getattr(row, name)(at[:, None])[:, 0], whole)
        assert row.crps(y[i : i + 1])[0] == forecast.crps(y)[i]
        assert row.mean()[0] == pytest.approx(forecast.mean()[i], abs=1e-14)
        assert row.std()[0] == pytest.approx(forecast.std()[i], abs=1e-14)


@settings(max_examples=30, deadline=None)
@given(tables(), st.floats(-1.9, 3.9))
def test_a_further_grid_point_on_the_line_changes_nothing(table, point):
    forecast = Tabulated(GRID, table)
    if point in GRID:
        return
    grid = np.sort(np.append(GRID, point))
    finer = Tabulated(grid, np.maximum.accumulate(forecast.cdf(grid[:, None]).T, axis=1))
    y = np.linspace(-4.0, 5.0, len(table))
    np.testing.assert_allclose(finer.crps(y), forecast.crps(y), atol=1e-12)
    np.testing.assert_allclose(finer.mean(), forecast.mean(), atol=1e-12)
    np.testing.assert_allclose(finer.std() ** 2, forecast.std() ** 2, atol=1e-12)


# ---------------------------------------------------------------------- the point mass


def test_no_rain():
    forecast = Tabulated([0.0, 2.0, 10.0], [[0.6, 0.8, 1.0], [0.0, 0.5, 1.0]])
    np.testing.assert_array_equal(forecast.cdf(0.0), [0.6, 0.0])
    np.testing.assert_array_equal(forecast.cdf_left(0.0), [0.0, 0.0])
    np.testing.assert_allclose(forecast.ppf(0.6), [0.0, 3.6], rtol=1e-15)
    np.testing.assert_array_equal(forecast.ppf(0.0), [0.0, 0.0])
    dry = (forecast.rvs(4000, random_state=1) == 0.0).mean(axis=0)
    np.testing.assert_allclose(dry, [0.6, 0.0], atol=0.03)
    with pytest.raises(ValueError, match=r"cdf\[0, 0\] is 0.6, a point mass at 0.0 \(1 row "):
        forecast.logpdf(1.0)
    np.testing.assert_allclose(forecast[1].logpdf(1.0), np.log(0.25))


def test_all_mass_at_the_first_point():
    forecast = Tabulated([0.0, 1.0], [[1.0, 1.0]])
    np.testing.assert_array_equal(forecast.ppf([[0.0], [0.5], [1.0]])[:, 0], 0.0)
    assert forecast.mean()[0] == 0.0
    assert forecast.std()[0] == 0.0
    assert forecast.crps([-2.0])[0] == 2.0
    assert forecast.crps([3.0])[0] == 3.0


# ---------------------------------------------------------------------- rows and frames


def test_rows_and_concatenation():
    table = np.array([[0.0, 0.5, 1.0], [0.1, 0.2, 1.0], [0.3, 0.4, 1.0]])
    forecast = Tabulated([0.0, 1.0, 2.0], table)
    np.testing.assert_array_equal(forecast[[2, 0]].probabilities, table[[2, 0]])
    np.testing.assert_array_equal(forecast[-1].probabilities, table[-1:])
    np.testing.assert_array_equal(forecast[table[:, 0] > 0.0].probabilities, table[1:])
    both = Tabulated._concatenated([forecast[:1], forecast[1:]])
    np.testing.assert_array_equal(both.probabilities, table)
    with pytest.raises(ValueError, match="different grid cannot be concatenated"):
        Tabulated._concatenated([forecast, Tabulated([0.0, 1.0, 3.0], table)])


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_frames_there_and_back(backend):
    forecast = Tabulated([-0.5, 1 / 3, 1e6], [[0.0, 0.25, 1.0], [0.5, 0.5, 1.0]])
    again = Tabulated.from_frame(forecast.to_frame(backend))
    np.testing.assert_array_equal(again.grid, forecast.grid)
    np.testing.assert_array_equal(again.probabilities, forecast.probabilities)


def test_columns_may_have_any_names_and_order():
    frame = pl.DataFrame({"all": [1.0, 1.0], "dry": [0.5, 0.2], "some": [0.7, 0.3]})
    forecast = Tabulated.from_frame(frame, {"all": 50.0, "dry": 0.0, "some": 1.0})
    np.testing.assert_array_equal(forecast.grid, [0.0, 1.0, 50.0])
    np.testing.assert_array_equal(forecast.probabilities, [[0.5, 0.7, 1.0], [0.2, 0.3, 1.0]])
    with pytest.raises(ValueError, match="no columns named F and a number"):
        Tabulated.from_frame(frame)


# ---------------------------------------------------------------------- bad input


def test_the_last_probability_is_one():
    table = np.array([[0.0, 1.0 - 1e-10]])
    forecast = Tabulated([0.0, 1.0], table)
    assert forecast.cdf(1.0)[0] == 1.0
    assert forecast.probabilities[0, -1] == 1.0
    assert table[0, -1] < 1.0
    with pytest.raises(
        ValueError, match=r"cdf\[1\] ends with 0.99 .* 1.0 .*1 row .*extend the grid"
    ):
        Tabulated([0.0, 1.0], [[0.0, 1.0], [0.0, 0.99]])


@pytest.mark.parametrize(
    ("grid", "cdf", "message"),
    [
        ([0.0], [[1.0]], r"grid has shape \(1,\)"),
        ([[0.0, 1.0]], [[0.0, 1.0]], r"grid has shape \(1, 2\)"),
        ([1.0, 0.0], [[0.0, 1.0]], r"grid\[1\] is 0.0 after 1.0: sort"),
        ([0.0, 0.0], [[0.0, 1.0]], "grid must be strictly ascending"),
        ([0.0, np.inf], [[0.0, 1.0]], r"grid\[1\] is inf"),
        ([0.0, 1.0], [0.0, 1.0], r"cdf has shape \(2,\).*cdf\[None, :\]"),
        ([0.0, 1.0], [[0.0, 0.5, 1.0]], r"cdf has shape \(1, 3\): it must be \(n, 2\)"),
        ([0.0, 1.0], np.ones((0, 2)), "cdf is empty"),
        ([0.0, 1.0], [[-0.1, 1.0]], r"cdf\[0, 0\] is -0.1"),
        ([0.0, 1.0], [[0.1, 100.0]], r"cdf\[0, 1\] is 100.0.*percentages"),
        ([0.0, 1.0], [[np.nan, 1.0]], r"cdf\[0, 0\] is nan"),
        (
            [0.0, 1.0, 2.0],
            [[0.0, 0.5, 1.0], [0.5, 0.4, 1.0]],
            r"cdf\[1\] falls from 0.5 at 0.0 to 0.4 at 1.0 \(1 row .*maximum.accumulate",
        ),
    ],
)
def test_bad_input(grid, cdf, message):
    with pytest.raises(ValueError, match=message):
        Tabulated(grid, cdf)
