"""A small forecast with ties for twins."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.forecasts import Ensemble


@pytest.fixture
def tied():
    """Twelve ensembles of four members and their outcomes, all on a lattice of halves."""
    rng = np.random.default_rng(5)
    members = rng.integers(-4, 5, size=(12, 4)) / 2
    return Ensemble(members), rng.integers(-4, 5, size=12) / 2
