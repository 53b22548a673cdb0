"""The threshold calibration error: exact, over a grid and over all levels, with its null."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calibrant import average_calibration_error, threshold_calibration_error
from calibrant.forecasts import Ensemble, Normal

from .test_average import area_by_pieces, forecast_with


def all_levels(pits, key, min_group_size=0):
    """The largest error over all observed levels, one by one, and the levels that have it."""
    values = {}
    for level in np.unique(key):
        low = key <= level
        if min(low.sum(), (~low).sum()) >= min_group_size:
            parts = [pits[rows] for rows in (low, ~low) if rows.any()]
            values[level] = sum(average_calibration_error(*forecast_with(p)) for p in parts)
    largest = max(values.values(), default=np.nan)
    return largest, [level for level, value in values.items() if value > largest - 1e-12]


def test_reference_surface(case):
    content, forecast, y = case
    expected = content["tce"]
    found = threshold_calibration_error(
        forecast, y, thresholds=expected["y0"], levels=expected["alpha"], min_group_size=0
    )
    for name in ("value", "lower", "upper"):
        np.testing.assert_allclose(getattr(found, name), expected[name], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.n_lower, expected["n_lower"])
    np.testing.assert_array_equal(found.n_lower + found.n_upper, len(y))


def test_reference_largest_over_all_levels(case):
    content, forecast, y = case
    for block in content["tce_sup_over_alpha"]:
        found = threshold_calibration_error(
            forecast, y, thresholds=[block["y0"]], min_group_size=block["min_group"] or 0
        )
        if block["result"] is None:
            assert np.isnan(found.largest[0])
            continue
        expected = block["result"]
        assert found.largest[0] == pytest.approx(expected["value"], abs=1e-12)
        assert found.largest_level[0] == pytest.approx(expected["alpha"], abs=1e-12)
        assert found.largest_lower[0] == pytest.approx(expected["lower"], abs=1e-12)
        assert found.largest_upper[0] == pytest.approx(expected["upper"], abs=1e-12)
        assert found.largest_n_lower[0] == expected["n_lower"]


def test_reference_standard_grid(case):
    content, forecast, y = case
    for block in content["tce_standard_grid"]["summaries"]:
        found = threshold_calibration_error(forecast, y, min_group_size=block["min_group"])
        assert np.isfinite(found.value).sum() == block["admissible_cells"]
        if block["admissible_cells"]:
            assert found.mean == pytest.approx(block["mean"], abs=1e-12)
            assert found.max == pytest.approx(block["max"], abs=1e-12)


def test_reference_of_given_numbers(threshold_reference):
    content = threshold_reference("precomputed_40")
    forecast, y = forecast_with(content["pit"], content["f0"])

    levels = [block["alpha"] for block in content["tce"]]
    found = threshold_calibration_error(
        forecast, y, thresholds=[0.0], levels=levels, min_group_size=0
    )
    for k, block in enumerate(content["tce"]):
        for name in ("value", "lower", "upper"):
            assert getattr(found, name)[0, k] == pytest.approx(block[name], abs=1e-12)
        assert (found.n_lower[0, k], found.n_upper[0, k]) == (block["n_lower"], block["n_upper"])
    for block, smallest in [(content["sup"], 0)] + [
        (block["result"], block["min_group"]) for block in content["sup_min_group"]
    ]:
        found = threshold_calibration_error(forecast, y, thresholds=[0.0], min_group_size=smallest)
        if block is None:
            assert np.isnan(found.largest[0])
        else:
            assert found.largest[0] == pytest.approx(block["value"], abs=1e-12)
            assert found.largest_level[0] == block["alpha"]


@settings(max_examples=40)
@given(st.integers(2, 60), st.integers(1, 9), st.integers(0, 10), st.integers(0, 10**6))
@example(8, 7, 0, 32886)  # two levels have it
def test_largest_is_that_of_trying_every_level(n, n_members, smallest, seed):
    rng = np.random.default_rng(seed)
    forecast = Ensemble(rng.integers(-3, 4, size=(n, n_members)) / 2)
    y = rng.integers(-4, 5, size=n) / 2
    found = threshold_calibration_error(
        forecast, y, thresholds=[-0.5, 0.0, 1.0], min_group_size=smallest
    )
    pits = forecast.cdf(y)
    for j, threshold in enumerate(found.thresholds):
        value, levels = all_levels(pits, forecast.cdf(threshold), smallest)
        assert found.largest[j] == pytest.approx(value, abs=1e-12, nan_ok=True)
        if levels:  # of several, rounding decides
            assert found.largest_level[j] in levels
        else:
            assert np.isnan(found.largest_level[j])


def test_largest_of_many_rows_is_that_of_trying_every_level():
    rng = np.random.default_rng(3)
    mu = rng.normal(size=700)
    y = 0.5 * mu + rng.normal(size=700)
    forecast = Normal(mu, 1.2)
    found = threshold_calibration_error(forecast, y, thresholds=[-1.0, 0.3], min_group_size=30)
    for j, threshold in enumerate(found.thresholds):
        value, levels = all_levels(forecast.cdf(y), forecast.cdf(threshold), 30)
        assert found.largest[j] == pytest.approx(value, abs=1e-12)
        assert [found.largest_level[j]] == levels


def test_parts_are_integrals():
    rng = np.random.default_rng(4)
    forecast, y = Normal(rng.normal(size=30), 1.0), rng.normal(size=30)
    found = threshold_calibration_error(
        forecast, y, thresholds=[0.2], levels=[0.4], min_group_size=0
    )
    low, pits = forecast.cdf(0.2) <= 0.4, forecast.cdf(y)
    assert found.lower[0, 0] == pytest.approx(area_by_pieces(pits[low]), abs=1e-9)
    assert found.upper[0, 0] == pytest.approx(area_by_pieces(pits[~low]), abs=1e-9)


def test_an_empty_upper_group_leaves_the_average_calibration_error():
    forecast, y = Normal([0.0, 1.0, 2.0], 1.0), [0.3, 0.1, 2.5]
    found = threshold_calibration_error(
        forecast, y, thresholds=[0.0], levels=[1.0], min_group_size=0
    )
    assert found.value[0, 0] == pytest.approx(average_calibration_error(forecast, y), abs=1e-15)
    assert found.upper[0, 0] == 0.0
    assert found.largest[0] >= found.value[0, 0]


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(5)
    n = 80
    mu, y, weight = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 4, size=n)
    weighted = threshold_calibration_error(Normal(mu, 1.0), y, sample_weight=weight)
    repeated = threshold_calibration_error(Normal(np.repeat(mu, weight), 1.0), np.repeat(y, weight))
    for name in ("thresholds", "value", "lower", "upper", "n_lower", "n_upper", "largest"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=0, atol=1e-12
        )


def test_permuted_rows_and_one_thread_give_the_same(monkeypatch):
    rng = np.random.default_rng(6)
    mu, y = rng.normal(size=3000), rng.normal(size=3000)
    found = threshold_calibration_error(Normal(mu, 1.0), y)
    order = rng.permutation(3000)
    permuted = threshold_calibration_error(Normal(mu[order], 1.0), y[order])
    np.testing.assert_array_equal(found.value, permuted.value)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    alone = threshold_calibration_error(Normal(mu, 1.0), y)
    np.testing.assert_array_equal(found.value, alone.value)
    np.testing.assert_array_equal(found.largest, alone.largest)


@pytest.mark.parametrize("n", [40, 400])
def test_null_quantiles_hold_for_calibrated_forecasts(n):
    rng = np.random.default_rng(n)
    above = []
    for _ in range(300):
        mu = rng.normal(size=n)
        found = threshold_calibration_error(
            Normal(mu, 1.0),
            rng.normal(mu),
            thresholds=[0.0, 0.7],
            levels=[0.3, 0.6],
            min_group_size=1,
            null_level=0.9,
        )
        above.append(found.value > found.null_quantile)
    share = np.mean(above, axis=0)
    error = np.sqrt(0.09 / 300)
    assert (np.abs(share - 0.1) < 3.5 * error).all(), share


def test_miscalibration_is_above_the_null():
    rng = np.random.default_rng(7)
    mu = rng.normal(size=4000)
    found = threshold_calibration_error(Normal(mu, 0.5), rng.normal(mu))
    assert found.share_above_null == 1.0
    assert "100% of 970" in repr(found)


def test_result_as_frame_dictionary_and_text():
    rng = np.random.default_rng(8)
    mu = rng.normal(size=300)
    found = threshold_calibration_error(Normal(mu, 1.0), rng.normal(mu), thresholds=12, levels=3)
    frame = found.to_frame("polars")
    assert frame.shape == (36, 8)
    assert frame["threshold"].to_list() == list(np.repeat(found.thresholds, 3))
    np.testing.assert_array_equal(frame["value"].to_numpy(), found.value.ravel())
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert written["largest_level"] == found.largest_level.tolist()
    assert max(map(len, repr(found).splitlines())) <= 80


def test_groups_too_small_everywhere():
    found = threshold_calibration_error(
        Normal([0.0, 0.0], 1.0), [0.0, 1.0], min_group_size=2, levels=[0.5]
    )
    assert np.isnan(found.value).all()
    assert np.isnan([found.max, found.mean, found.share_above_null]).all()
    assert "-" in repr(found)
    assert found.to_dict()["value"][0] == [None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thresholds": 0}, "thresholds must be a number of at least 1"),
        ({"thresholds": [[0.0]]}, r"thresholds has shape \(1, 1\)"),
        ({"thresholds": [np.nan]}, r"thresholds\[0\] is nan"),
        ({"levels": []}, "levels has shape"),
        ({"levels": [0.5, 1.5]}, r"levels\[1\] is 1.5"),
        ({"min_group_size": -1}, "min_group_size must be None or a number"),
        ({"null_level": 1.0}, "null_level must be a number between 0 and 1"),
        ({"method": "none"}, "method must be one of"),
        ({"sample_weight": [1.0]}, "sample_weight has 1 entries for 2 rows"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        threshold_calibration_error(Normal([0.0, 1.0], 1.0), [0.0, 1.0], **options)
