"""Whole sets of real forecasts, before and after each recalibration."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant import (
    AverageRecalibration,
    DistributionRecalibration,
    average_calibration_error,
    decision_table,
    threshold_calibration_error,
)
from calibrant.forecasts import Mixture, Normal

from .test_threshold import fit

FROZEN = Path(__file__).parents[3] / "shared" / "data" / "forecasts"
RECALIBRATED_ON_ALL = ("crime", "dhs_wealth", "dhs_wealth_random")

# One of each kind.
SETS = [
    ("naval", "gaussian", 0), ("crime", "gaussian", 1), ("crime", "mixture", 0),
    ("los_support2", "mixture", 2), ("energy", "gaussian", 3),
]  # fmt: skip

pytestmark = pytest.mark.skipif(
    not FROZEN.is_dir(), reason="the frozen forecasts are not beside the checkout"
)


def read(dataset, family, seed):
    """Forecasts and outcomes to recalibrate on, and those of the test split."""
    frame = pl.read_parquet(FROZEN / f"{dataset}_{family}_seed{seed}.parquet")
    names = ["mu", "sigma"] if family == "gaussian" else ["mu", "sigma", "loc", "scale", "weight"]
    make = Normal if family == "gaussian" else Mixture.gaussian_laplace
    splits = ["train", "val"] if dataset in RECALIBRATED_ON_ALL else ["val"]
    for part in (splits, ["test"]):
        rows = frame.filter(pl.col("split").cast(str).is_in(part))
        columns = [rows[name].to_numpy().astype(np.float64) for name in (*names, "y")]
        yield make(*columns[:-1]), columns[-1]


def check(forecast, y, expected, tolerance=1e-9):
    thresholds = np.linspace(y.min(), min(10.0, y.max()), 50)
    table = decision_table(forecast, y, thresholds=thresholds, n_resamples=0)
    surface = threshold_calibration_error(forecast, y, min_group_size=200)
    found = {
        "reliability_gap": table.reliability_gap.mean(),
        "decision_loss": table.decision_loss.mean(),
        "average_calibration_error": average_calibration_error(forecast, y),
        "tce_mean": surface.mean,
        "tce_max": surface.max,
    }
    for name, value in found.items():
        assert value == pytest.approx(expected[name], abs=tolerance), name


@pytest.mark.parametrize(("dataset", "family", "seed"), SETS)
def test_reference(threshold_reference, dataset, family, seed):
    content = threshold_reference("frozen_full")
    key = {"dataset": dataset, "family": family, "seed": seed}
    [expected] = [r for r in content["results"] if {k: r[k] for k in key} == key]
    (forecast, y), (new, y_new) = read(dataset, family, seed)
    assert (len(forecast), len(new)) == (expected["n_recal"], expected["n_test"])
    check(new, y_new, expected["none"])
    check(AverageRecalibration().fit(forecast, y).transform(new), y_new, expected["average"])
    for name, spread in (("distribution", "sd"), ("distribution_var", "variance")):
        cells = DistributionRecalibration(spread=spread, fallback="unchanged").fit(forecast, y)
        check(cells.transform(new), y_new, expected[name])

    n_layers = max(map(int, expected["threshold"]))
    fitted = fit(forecast, y, tol=0.0, max_iter=n_layers, min_group_size=content["min_group"])
    # Rounding may decide from the first layer on that leads by less than this.
    clear = [
        layer["margin"] > 1e-9 and layer.get("lead", 1.0) > 1e-9 for layer in expected["layers"]
    ]
    n_clear = len(list(itertools.takewhile(bool, clear)))
    for found, layer in itertools.islice(
        zip(fitted.history_, expected["layers"], strict=True), n_clear
    ):
        assert found.tce == pytest.approx(layer["tce"], abs=1e-9)
    for layers in map(int, expected["threshold"]):
        part = fit(forecast, y, tol=0.0, max_iter=layers, min_group_size=content["min_group"])
        tolerance = 1e-9 if layers <= n_clear else 2e-3
        check(part.transform(new), y_new, expected["threshold"][str(layers)], tolerance)
