"""Real forecasts in all the forms that the command line reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from calibrant.datasets import load_protein_forecasts
from calibrant.forecasts import Ensemble, Forecast, Normal, Quantiles

LEVELS = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}

# The options that name each family's columns.
FAMILIES = {
    "normal": ("--mean", "mu", "--sd", "sigma"),
    "quantiles": ("--quantiles", "q50=0.5,q05=0.05", "--quantiles", "q25=0.25",
                  "--quantiles", "q95=0.95,q75=0.75"),
    "ensemble": ("--members-prefix", "m"),
}  # fmt: skip


@dataclass(frozen=True)
class Proteins:
    """What proteins.csv and proteins.parquet hold."""

    frame: pl.DataFrame
    forecasts: dict[str, Forecast]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]


@pytest.fixture(scope="session")
def made() -> Proteins:
    data = load_protein_forecasts("validation")
    forecast, y = data.forecast[:900], data.y[:900]
    rng = np.random.default_rng(0)
    values = forecast.ppf(np.array([*LEVELS.values()])[:, None])
    members = forecast.rvs(12, random_state=0)
    weight = rng.integers(1, 4, 900).astype(float)
    frame = pl.DataFrame(
        {"id": [f"{k:04d}" for k in range(900)], "mu": forecast.mu, "sigma": forecast.sigma, "y": y}
        | dict(zip(LEVELS, values, strict=True))
        | {f"m{k}": row for k, row in enumerate(members, start=1)}
        | {"w": weight}
    )
    forecasts = {
        "normal": Normal(forecast.mu, forecast.sigma),
        "quantiles": Quantiles([*LEVELS.values()], values.T),
        "ensemble": Ensemble(members.T),
    }
    return Proteins(frame, forecasts, y, weight)


@pytest.fixture
def proteins(made: Proteins, tmp_path: Path) -> Proteins:
    """900 rows of forecasts with outcomes, also written to proteins.csv and proteins.parquet."""
    made.frame.write_csv(tmp_path / "proteins.csv")
    made.frame.write_parquet(tmp_path / "proteins.parquet")
    return made


@pytest.fixture(params=[*FAMILIES])
def family(request: pytest.FixtureRequest) -> tuple[str, tuple[str, ...]]:
    """A family of forecasts and the options for it."""
    return request.param, FAMILIES[request.param]
