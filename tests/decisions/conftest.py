"""Forecasts of the reference files, and small ones with ties for twins."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.forecasts import Ensemble, Mixture, Normal

FAMILIES = {
    "gaussian": Normal,
    "mixture": Mixture.gaussian_laplace,
    "ensemble": Ensemble,
}


@pytest.fixture(scope="session")
def family():
    """The constructor of a family of the reference files."""
    return FAMILIES.__getitem__


@pytest.fixture(
    params=[
        "gaussian_120",
        "gaussian_ties_160",
        "mixture_90",
        "ensemble_100_m20",
        "naval_gaussian_s0_300",
        "protein_mixture_s1_200",
        "crime_mixture_s2_250",
    ]
)
def case(request, threshold_reference):
    """A reference file, its forecast and its outcomes."""
    content = threshold_reference(request.param)
    inputs = content["inputs"]
    forecast = FAMILIES[inputs["family"]](**inputs["params"])
    return content, forecast, np.array(inputs["y"])


@pytest.fixture
def tied():
    """Twelve ensembles of four members and their outcomes, all on a lattice of halves."""
    rng = np.random.default_rng(5)
    members = rng.integers(-4, 5, size=(12, 4)) / 2
    return Ensemble(members), rng.integers(-4, 5, size=12) / 2
