"""Distribution recalibration: a map for each cell of similar forecasts."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant
from calibrant import AverageRecalibration, DistributionRecalibration
from calibrant.forecasts import Laplace, Mixture, Normal


def test_reference(case, family):
    content, forecast, y = case
    inputs = content["inputs"]
    new = family(inputs["family"])(**inputs["new_params"])
    points = np.array(content["t_grid"])[:, None]
    for block in content.get("distribution_recalibration", []):
        spread = "variance" if "var" in block["parameters"] else "sd"
        fitted = DistributionRecalibration(
            n_bins=block["bins"], fallback="unchanged", spread=spread
        ).fit(forecast, y)
        assert len(fitted.cells_) == block["occupied_cells"]
        found = fitted.transform(new).cdf(points).T
        np.testing.assert_allclose(found, block["cdf_new"], rtol=0, atol=1e-11)


def test_some_reference_has_cells(threshold_reference):
    assert len(threshold_reference("naval_gaussian_s0_300")["distribution_recalibration"]) == 3


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    mu = rng.choice([0.1, 0.5, 0.9], size=400)
    mu[:2] = 0.0, 1.0
    return Normal(mu, 1.0), rng.normal(mu * 2.0, 0.5)


def test_rows_of_a_cell_are_recalibrated_by_themselves(sample):
    forecast, y = sample
    fitted = DistributionRecalibration(n_bins=3).fit(forecast, y)
    for m in (0.1, 0.5, 0.9):
        rows = forecast.mu == m
        alone = AverageRecalibration().fit(forecast[rows], y[rows]).transform(forecast[rows])
        np.testing.assert_allclose(
            fitted.transform(forecast[rows]).cdf(y[rows]), alone.cdf(y[rows]), atol=1e-14
        )


def test_fallback_outside_the_cells(sample):
    forecast, y = sample
    outside = Normal([5.0, 0.5, -1.0], [1.0, 2.0, 1.0])
    average = AverageRecalibration().fit(forecast, y).transform(outside)
    for fallback, expected in (("average", average), ("unchanged", outside)):
        fitted = DistributionRecalibration(n_bins=3, fallback=fallback).fit(forecast, y)
        np.testing.assert_allclose(
            fitted.transform(outside).cdf([4.0, 0.1, 0.2]),
            expected.cdf([4.0, 0.1, 0.2]),
            atol=1e-14,
        )


def test_empty_cells_fall_back():
    forecast = Normal([0.0, 0.1, 0.9, 1.0], 1.0)
    fitted = DistributionRecalibration(n_bins=4, fallback="unchanged").fit(forecast, [0.0] * 4)
    between = Normal([0.4, 0.1], 1.0)
    changed = fitted.transform(between).cdf(0.0) != between.cdf(0.0)
    assert changed.tolist() == [False, True]


def test_weights_are_repeated_rows(sample):
    forecast, y = sample
    weight = np.random.default_rng(1).integers(1, 4, size=400)
    rows = np.repeat(np.arange(400), weight)
    weighted = DistributionRecalibration(n_bins=5).fit(forecast, y, sample_weight=weight)
    repeated = DistributionRecalibration(n_bins=5).fit(forecast[rows], y[rows])
    np.testing.assert_allclose(
        weighted.transform(forecast).cdf(y), repeated.transform(forecast).cdf(y), atol=1e-13
    )


def test_cells_of_all_parameters_of_a_mixture():
    rng = np.random.default_rng(2)
    n = 500
    forecast = Mixture.gaussian_laplace(*rng.uniform(0.2, 1.0, size=(5, n)))
    fitted = DistributionRecalibration(n_bins=2).fit(forecast, rng.normal(size=n))
    assert list(fitted.grid_.edges) == ["mu", "sigma", "loc", "scale", "weight"]
    assert len(fitted.cells_) == 32


def test_saved_and_loaded(sample, tmp_path):
    forecast, y = sample
    fitted = DistributionRecalibration(n_bins=4, spread="variance").fit(forecast, y)
    fitted.save(tmp_path / "map.json")
    read = calibrant.load(tmp_path / "map.json")
    np.testing.assert_array_equal(
        read.transform(forecast).cdf(y), fitted.transform(forecast).cdf(y)
    )


def test_another_family_is_refused(sample):
    fitted = DistributionRecalibration(n_bins=7).fit(*sample)
    with pytest.raises(ValueError, match="parameters loc, scale, but the cells are of mu, sigma"):
        fitted.transform(Laplace([0.0], 1.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins must be an integer of at least 1, got 0"),
        ({"n_bins": 2.5}, "n_bins must be an integer"),
        ({"fallback": "none"}, "fallback must be 'average' or 'unchanged'"),
        ({"spread": "std"}, "spread must be 'sd' or 'variance'"),
    ],
)
def test_bad_parameters(sample, options, message):
    with pytest.raises(ValueError, match=message):
        DistributionRecalibration(**options).fit(*sample)


def test_warns_of_rows_on_edges():
    rng = np.random.default_rng(0)
    forecast = Normal(rng.normal(size=300), rng.choice([1.0, 2.0], 300))
    with pytest.warns(UserWarning, match="300 of 300 rows lie exactly on an edge"):
        DistributionRecalibration(n_bins=5).fit(forecast, rng.normal(size=300))


def test_too_many_cells_and_infinite_parameters_are_refused():
    rng = np.random.default_rng(0)
    mixture = Mixture.gaussian_laplace(*rng.uniform(0.2, 1.0, size=(5, 40)))
    with pytest.raises(ValueError, match="n_bins=10000 cells for each of 5 parameters"):
        DistributionRecalibration(n_bins=10_000).fit(mixture, rng.normal(size=40))

    class Unbounded(Normal):
        def parameters(self):
            return {"mu": np.where(self.mu > 0.5, np.inf, self.mu)}

    with pytest.raises(ValueError, match="mu of forecast 1 is inf"):
        DistributionRecalibration().fit(Unbounded([0.0, 1.0], 1.0), [0.0, 0.0])
