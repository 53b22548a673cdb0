"""Average recalibration: the isotonic map of ranks on PITs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

import calibrant
from calibrant import AverageRecalibration, average_calibration_error, pit
from calibrant.forecasts import Ensemble, Normal, Tabulated


def test_reference(case, family):
    content, forecast, y = case
    inputs, expected = content["inputs"], content["average_recalibration"]["main"]
    fitted = AverageRecalibration().fit(forecast, y)
    new = fitted.transform(family(inputs["family"])(**inputs["new_params"]))
    points = np.array(content["t_grid"])[:, None]
    np.testing.assert_allclose(new.cdf(points).T, expected["cdf_new"], rtol=0, atol=1e-12)
    knots = fitted.maps_.knots[0]
    found = np.interp(expected["u"], knots.x, knots.y)
    np.testing.assert_allclose(found, expected["value"], rtol=0, atol=1e-12)
    same = fitted.transform(forecast)
    # Where rounding decides whether two PITs are equal, either target is right.
    pits = pit(forecast, y)
    distance = np.abs(pits[:, None] - pits)
    clear = ((distance == 0.0) | (distance > 1e-12)).all(axis=1)
    assert clear.mean() > 0.9
    found = pit(same, y)[clear]
    np.testing.assert_allclose(found, np.array(expected["at_pit"])[clear], rtol=0, atol=1e-12)
    slack = 1e-12 if clear.all() else 1.0 / len(y) ** 2
    assert average_calibration_error(same, y) == pytest.approx(expected["ace_after"], abs=slack)
    if "quantile_new" in expected:
        found = new.ppf(np.array(expected["quantile_p"])[:, None]).T
        rows = len(expected["quantile_new"])
        np.testing.assert_allclose(found[:rows], expected["quantile_new"], rtol=0, atol=1e-9)
    if "crps_first_rows" in expected:
        np.testing.assert_allclose(
            same[:3].crps(y[:3]), expected["crps_first_rows"], rtol=0, atol=1e-8
        )


def map_at(fitted, u):
    """The fitted map at given levels, through a forecast whose CDF there they are."""
    grid = np.arange(len(u) + 2.0)
    rows = np.concatenate([[0.0], np.sort(u), [1.0]])[None]
    return fitted.transform(Tabulated(grid, rows)).cdf(grid[1:-1, None])[:, 0]


def test_reference_of_given_numbers(threshold_reference):
    content = threshold_reference("precomputed_40")
    pits, expected = np.array(content["pit"]), content["isotonic"]
    rows = np.stack([np.zeros(40), pits, np.ones(40)], axis=1)
    fitted = AverageRecalibration().fit(Tabulated([0.0, 1.0, 2.0], rows), np.ones(40))
    knots = fitted.maps_.knots[0]
    np.testing.assert_allclose(knots.x, expected["knots_x"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(knots.y, expected["knots_y"], rtol=0, atol=1e-12)
    order = np.argsort(expected["u"])
    np.testing.assert_allclose(
        map_at(fitted, expected["u"]), np.array(expected["value"])[order], rtol=0, atol=1e-12
    )


@given(st.lists(st.integers(1, 11).map(lambda k: k / 12), min_size=1, max_size=30))
def test_is_isotonic_regression_of_ranks(pits):
    pits = np.array(pits)
    rows = np.stack([np.zeros(len(pits)), pits, np.ones(len(pits))], axis=1)
    fitted = AverageRecalibration().fit(Tabulated([0.0, 1.0, 2.0], rows), np.ones(len(pits)))
    x = np.concatenate([[0.0], np.sort(pits), [1.0]])
    m = len(pits)
    targets = np.arange(m + 2) / (m + 1)
    u = np.linspace(0.0, 1.0, 37)
    expected = IsotonicRegression().fit(x, targets).predict(u)
    np.testing.assert_allclose(map_at(fitted, u), expected, atol=1e-12)


@given(st.integers(0, 10**6))
def test_weights_are_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    members, y = rng.integers(0, 6, size=(15, 5)), rng.integers(0, 6, size=15)
    weight = rng.integers(0, 4, size=15)
    weight[0] = 1
    rows = np.repeat(np.arange(15), weight)
    forecast = Ensemble(members)
    weighted = AverageRecalibration().fit(forecast, y, sample_weight=weight)
    repeated = AverageRecalibration().fit(forecast[rows], y[rows])
    for one, other in zip(weighted.maps_.knots[0], repeated.maps_.knots[0], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)


def test_pits_in_the_middle_or_drawn():
    rng = np.random.default_rng(1)
    forecast = Ensemble(rng.integers(0, 4, size=(400, 6)))
    y = rng.integers(0, 4, size=400)
    knots = {
        (method, seed): AverageRecalibration(pit=method, random_state=seed)
        .fit(forecast, y)
        .maps_.knots[0]
        .x
        for method, seed in [("value", 0), ("mid", 0), ("randomized", 0), ("randomized", 1)]
    }
    assert len(knots["value", 0]) < len(knots["mid", 0]) < len(knots["randomized", 0])
    assert not np.array_equal(knots["randomized", 0], knots["randomized", 1])


def test_behaves_as_an_estimator(tmp_path):
    forecast, y = Normal(np.arange(5.0), 1.0), np.array([0.1, 0.8, 2.5, 3.3, 3.9])
    fitted = AverageRecalibration(pit="mid").fit(forecast, y)
    assert clone(fitted).get_params() == {"pit": "mid", "random_state": None}
    with pytest.raises(NotFittedError):
        AverageRecalibration().transform(forecast)
    fitted.save(tmp_path / "map.json")
    read = calibrant.load(tmp_path / "map.json")
    np.testing.assert_array_equal(
        read.transform(forecast).cdf(y), fitted.transform(forecast).cdf(y)
    )
    with pytest.raises(FileExistsError):
        fitted.save(tmp_path / "map.json")


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0.0], {}, "y has 1 outcomes for 2 forecasts"),
        ([0.0, np.nan], {}, r"y\[1\] is nan"),
        ([0.0, 1.0], {"sample_weight": [0.0, 0.0]}, "sample_weight is zero in every row"),
        ([0.0, 1.0], {"pit": "median"}, "pit must be 'value' or 'mid' or 'randomized'"),
    ],
)
def test_bad_input(y, options, message):
    parameters = {k: v for k, v in options.items() if k == "pit"}
    arguments = {k: v for k, v in options.items() if k != "pit"}
    with pytest.raises(ValueError, match=message):
        AverageRecalibration(**parameters).fit(Normal([0.0, 1.0], 1.0), y, **arguments)


def test_warns_of_forecasts_that_are_wrong_beyond_their_range():
    rng = np.random.default_rng(0)
    forecast = Ensemble(rng.normal(size=(200, 10)))
    with pytest.warns(UserWarning, match=r"100% of the outcomes lie beyond all that the forecasts"):
        AverageRecalibration().fit(forecast, rng.normal(9.0, 1.0, size=200))
