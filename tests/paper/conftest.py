"""Tiny data and forecasts for the paper's experiments, which are no part of the package."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

SPLITS = (("train", 60), ("val", 60), ("test", 80))


def make_forecasts(family, seed):
    """The columns of a file of stored forecasts, overconfident ones."""
    rng = np.random.default_rng([seed, len(family)])
    n = sum(size for _, size in SPLITS)
    mu = rng.normal(size=n)
    columns = {
        "split": np.repeat(*zip(*SPLITS, strict=True)),
        "y": mu + rng.normal(size=n),
        "mu": mu,
        "sigma": rng.uniform(0.3, 0.6, size=n),
    }
    if family == "mixture":
        columns |= {"loc": mu, "scale": rng.uniform(0.2, 0.5, size=n), "weight": rng.random(n)}
    frame = pl.DataFrame(columns).with_columns(pl.col("split").cast(pl.Categorical))
    return frame.with_columns(pl.selectors.float().cast(pl.Float32))


@pytest.fixture(scope="session")
def forecasts(tmp_path_factory):
    """A folder of forecasts of two sets, two families and two seeds."""
    folder = tmp_path_factory.mktemp("forecasts")
    for name in ("los_support2", "protein"):
        for family in ("gaussian", "mixture"):
            for seed in (0, 1):
                path = folder / f"{name}_{family}_seed{seed}.parquet"
                make_forecasts(family, seed).write_parquet(path)
    return folder


@pytest.fixture
def crime(tmp_path):
    """A data folder with a few made-up rows of one set."""
    rng = np.random.default_rng(5)
    n = 200
    x = rng.normal(size=n)
    frame = pl.DataFrame(
        {
            "state": np.arange(n),
            "county": [None] * n,
            "community": [None] * n,
            "communityname": ["somewhere"] * n,
            "fold": [1] * n,
            "population": x,
            "PolicCars": [None, *x[1:]],
            "ViolentCrimesPerPop": x + rng.normal(size=n),
        }
    )
    folder = tmp_path / "data"
    (folder / "crime").mkdir(parents=True)
    frame.write_parquet(folder / "crime" / "crime.parquet")
    return folder
