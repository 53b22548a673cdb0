"""The recalibrations that are compared, by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Self, cast

import numpy as np

from calibrant import (
    AverageRecalibration,
    DistributionRecalibration,
    ThresholdRecalibration,
    ThresholdwiseRecalibration,
)
from calibrant.forecasts import as_forecast
from calibrant.recalibration.maps import Knots, MonotoneMaps

Make = Callable[[], Any]

NONE = "none"
AVERAGE = "average"
DISTRIBUTION = "distribution"
RAISED = "distribution, k / (m + 1)"
LARGE_CELLS = "distribution, large cells"
FEW_LAYERS = "threshold, 10 layers"
MANY_LAYERS = "threshold, 40 layers"
THRESHOLD = "threshold, early stopping"
THRESHOLDWISE = "thresholdwise"

_ENOUGH = 50


def fitting_rows(recalibration: DistributionRecalibration, forecast: Any) -> np.ndarray:
    """How many rows the map of each cell was fitted to."""
    cells = recalibration.cells_
    cell = recalibration.grid_.cells(as_forecast(forecast), inner=True)
    mapped = cell[np.isin(cell, cells)]
    return np.bincount(np.searchsorted(cells, mapped), minlength=len(cells))


class AuthorsDistribution(DistributionRecalibration):
    """Cells of mean and variance with the targets k / (m + 2) of the authors' research code.

    With one row in a cell its PIT goes to 1 / 3. Forecasts outside the cells stay as they are.
    """

    def __init__(self) -> None:
        super().__init__(spread="variance", fallback="unchanged")

    def fit(self, forecast: Any, y: Any, *, sample_weight: Any = None) -> Self:
        super().fit(forecast, y, sample_weight=sample_weight)
        *cells, outside = self.maps_.knots
        self.maps_ = MonotoneMaps(
            [
                _lowered(knots, m)
                for knots, m in zip(cells, fitting_rows(self, forecast), strict=True)
            ]
            + [outside]
        )
        return self


class LargeCells(DistributionRecalibration):
    """A map of its own only for cells with enough rows, the average map for all others."""

    def fit(self, forecast: Any, y: Any, *, sample_weight: Any = None) -> Self:
        super().fit(forecast, y, sample_weight=sample_weight)
        *cells, average = self.maps_.knots
        large = fitting_rows(self, forecast) >= _ENOUGH
        self.cells_ = self.cells_[large]
        kept = [knots for knots, enough in zip(cells, large, strict=True) if enough]
        self.maps_ = MonotoneMaps([*kept, average])
        return self


def _lowered(knots: Knots, m: int) -> Knots:
    """The same map with targets k / (m + 2) in place of k / (m + 1)."""
    y = knots.y * (m + 1.0) / (m + 2.0)
    y[-1] = 1.0
    return Knots(knots.x, y)


METHODS: dict[str, Make | None] = {
    NONE: None,
    AVERAGE: AverageRecalibration,
    DISTRIBUTION: AuthorsDistribution,
    RAISED: lambda: DistributionRecalibration(spread="variance", fallback="unchanged"),
    LARGE_CELLS: lambda: LargeCells(n_bins=5),
    FEW_LAYERS: lambda: ThresholdRecalibration(tol=0.0, max_iter=10),
    MANY_LAYERS: lambda: ThresholdRecalibration(tol=0.0, max_iter=40),
    THRESHOLD: lambda: ThresholdRecalibration(
        tol=0.0, max_iter=40, early_stopping=True, random_state=0
    ),
    THRESHOLDWISE: lambda: ThresholdwiseRecalibration(random_state=0),
}


def method(name: str) -> Make | None:
    """One of METHODS, or whatever ``module:attribute`` names.

    The latter is called without arguments, and what it gives needs ``fit(forecast, y)`` and
    ``transform(forecast)``: a class or a function will do.
    """
    if name in METHODS:
        return METHODS[name]
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ValueError(
            f"there is no method {name!r}: choose from {'; '.join(METHODS)}; or name something "
            "of your own as module:attribute."
        )
    try:
        made: Any = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"method {name!r} cannot be imported: {error}.") from error
    if not callable(made):
        raise ValueError(f"method {name!r} must be callable, it is a {type(made).__name__}.")
    return cast(Make, made)
