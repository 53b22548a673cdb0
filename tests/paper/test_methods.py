"""The recalibrations that are compared."""

from __future__ import annotations

import numpy as np
import pytest
from paper.methods import METHODS, AuthorsDistribution, LargeCells, fitting_rows, method

from calibrant import AverageRecalibration, DistributionRecalibration
from calibrant.forecasts import Normal


def sample(n):
    rng = np.random.default_rng(2)
    mu = rng.normal(size=n)
    return Normal(mu, rng.uniform(0.4, 0.8, size=n)), mu + rng.normal(size=n)


def test_targets_of_the_authors():
    # Two rows strictly inside the only two cells that matter, one each, and the rows at the ends.
    forecast = Normal([0.0, 0.11, 0.91, 1.0], 1.0)
    y = np.array([0.0, 0.11, 1.91, 0.0])
    found = AuthorsDistribution().fit(forecast, y)
    assert len(found.cells_) == 2
    new = found.transform(forecast)
    expected = [forecast.cdf(y)[0], 1.0 / 3.0, 1.0 / 3.0, forecast.cdf(y)[3]]
    # The first row is on an edge and in a cell of its own without a map, the last outside.
    np.testing.assert_allclose(new.cdf(y), expected, atol=1e-12)
    with_one = DistributionRecalibration(spread="variance", fallback="unchanged")
    np.testing.assert_allclose(
        with_one.fit(forecast, y).transform(forecast).cdf(y)[1:3], 0.5, atol=1e-12
    )


def test_small_cells_take_the_average_map():
    forecast, y = sample(15_000)
    rows = fitting_rows(DistributionRecalibration().fit(forecast, y), forecast)
    assert rows.min() < 50 <= rows.max()
    found = LargeCells().fit(forecast, y)
    kept = fitting_rows(found, forecast)
    np.testing.assert_array_equal(kept, rows[rows >= 50])
    new = found.transform(forecast)
    average = AverageRecalibration().fit(forecast, y).transform(forecast)
    elsewhere = new.codes[:, 0] == len(kept)
    assert 0 < elsewhere.sum() < len(y)
    same = new.cdf(y) == average.cdf(y)
    assert same[elsewhere].all()
    assert not same[~elsewhere].all()


def test_methods_by_name():
    assert method("none") is None
    assert method("average") is METHODS["average"]
    assert method("calibrant:AverageRecalibration") is AverageRecalibration


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("avarage", "no method 'avarage': choose from none; average"),
        ("nowhere:Thing", "cannot be imported: No module named 'nowhere'"),
        ("calibrant:Nothing", "cannot be imported"),
        ("calibrant:__version__", "must be callable, it is a str"),
    ],
)
def test_unknown_methods(name, words):
    with pytest.raises(ValueError, match=words):
        method(name)
