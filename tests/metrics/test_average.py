"""PITs and the average calibration error."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from calibrant import average_calibration_error, pit
from calibrant.forecasts import Ensemble, Normal, Tabulated

lattice = st.lists(st.integers(0, 12).map(lambda k: k / 12), min_size=1, max_size=40)


def forecast_with(pits, key=None):
    """A forecast with given PITs and F(0), and its outcomes: 1 or -1 according to the PIT."""
    pits = np.asarray(pits)
    key = pits if key is None else np.asarray(key)
    after = pits >= key
    columns = [
        np.zeros(len(pits)),
        np.where(after, 0.0, pits),
        key,
        np.where(after, pits, key),
        np.ones(len(pits)),
    ]
    y = np.where(after, 1.0, -1.0)
    return Tabulated([-2.0, -1.0, 0.0, 1.0, 2.0], np.stack(columns, axis=1)), y


def area_by_pieces(pits, weight=None):
    """The integral of |P(PIT <= c) - c|, adding up where the empirical CDF is constant."""
    weight = np.ones(len(pits)) if weight is None else weight
    total, edges = 0.0, np.unique([0.0, 1.0, *pits])
    for a, b in itertools.pairwise(edges):
        level = weight[np.asarray(pits) <= a].sum() / weight.sum()
        total += integrate.quad(lambda c, level=level: abs(level - c), a, b, points=[level])[0]
    return total


def test_reference(case):
    content, forecast, y = case
    np.testing.assert_allclose(pit(forecast, y), content["pit"], rtol=0, atol=1e-12)
    expected = content["average_calibration_error"]
    assert average_calibration_error(forecast, y) == pytest.approx(expected, abs=1e-12)


def test_reference_of_given_numbers(threshold_reference):
    content = threshold_reference("precomputed_40")
    found = average_calibration_error(*forecast_with(content["pit"]))
    assert found == pytest.approx(content["average_calibration_error"], abs=1e-12)
    for block in (*content["single_pits"], *content["uniform_grid"]):
        found = average_calibration_error(*forecast_with(block["pit"]))
        assert found == pytest.approx(block["ace"], abs=1e-12)


@given(lattice)
def test_area_is_the_integral(pits):
    found = average_calibration_error(*forecast_with(pits))
    assert found == pytest.approx(area_by_pieces(pits), abs=1e-9)


@given(lattice, st.randoms())
def test_weights_are_repeated_rows_and_order_does_not_matter(pits, random):
    weight = np.array([random.randint(0, 3) for _ in pits])
    weight[0] = 1
    repeated = np.repeat(pits, weight)
    shuffled = list(repeated)
    random.shuffle(shuffled)
    found = average_calibration_error(*forecast_with(pits), sample_weight=weight)
    for rows in (repeated, shuffled):
        again = average_calibration_error(*forecast_with(rows))
        assert found == pytest.approx(again, abs=1e-12)


def test_steps_of_ensembles():
    forecast = Ensemble([[0.0, 0.0, 1.0, 2.0]] * 3)
    y = [0.0, 1.0, 5.0]
    assert pit(forecast, y).tolist() == [0.5, 0.75, 1.0]
    assert pit(forecast, y, method="mid").tolist() == [0.25, 0.625, 1.0]
    drawn = pit(forecast, y, method="randomized", random_state=0)
    assert (drawn == pit(forecast, y, method="randomized", random_state=0)).all()
    assert 0.0 <= drawn[0] <= 0.5 <= drawn[1] <= 0.75
    assert drawn[2] == 1.0


def test_randomized_pits_of_a_calibrated_step_forecast_are_uniform():
    rng = np.random.default_rng(1)
    n = 4000
    members = rng.integers(0, 4, size=(n, 7)).astype(float)
    y = members[np.arange(n), rng.integers(0, 7, size=n)]
    drawn = pit(Ensemble(members), y, method="randomized", random_state=2)
    assert stats.kstest(drawn, "uniform").pvalue > 0.01
    assert stats.kstest(pit(Ensemble(members), y), "uniform").pvalue < 1e-10


def test_scipy_distributions_work_as_they_are():
    mu = np.linspace(-1.0, 1.0, 50)
    y = np.cos(np.arange(50.0))
    found = average_calibration_error(stats.norm(mu, 2.0), y)
    assert found == pytest.approx(average_calibration_error(Normal(mu, 2.0), y), abs=1e-15)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((Normal([0.0, 1.0], 1.0), [0.0]), {}, "y has 1 outcomes for 2 forecasts"),
        ((Normal([0.0, 1.0], 1.0), [[0.0], [1.0]]), {}, r"y has shape \(2, 1\)"),
        ((Normal([0.0, 1.0], 1.0), [0.0, np.nan]), {}, r"y\[1\] is nan"),
        ((Normal([0.0, 1.0], 1.0), [0.0, 1.0]), {"method": "up"}, "method must be one of"),
        ((3.0, [0.0]), {}, "forecast"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        pit(*arguments, **options)


def test_bad_weights():
    with pytest.raises(ValueError, match="sample_weight"):
        average_calibration_error(Normal([0.0], 1.0), [0.0], sample_weight=[-1.0])
