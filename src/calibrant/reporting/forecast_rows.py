"""The rows that a report on forecasts is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.forecasts import Forecast
from calibrant.forecasts.base import Floats
from calibrant.inputs import as_weights
from calibrant.metrics.average import check_forecast
from calibrant.metrics.chance import effective_size

_SMALLEST, _LARGEST = 1e-290, 1e290
"""What outcomes may differ by at least, if they differ, and how large they may be."""


@dataclass(frozen=True)
class Rows:
    """Forecasts with outcomes and weights, which are positive and have a mean of one."""

    forecast: Forecast
    y: Floats
    weight: Floats | None

    @property
    def size(self) -> float:
        """Kish's effective number of rows."""
        return effective_size(len(self.y), self.weight)

    def take(self, rows: NDArray[np.intp]) -> Rows:
        weight = None if self.weight is None else _of_mean_one(self.weight[rows])
        return Rows(self.forecast[rows], self.y[rows], weight)


def read_rows(forecast: Any, y: Any, sample_weight: Any) -> tuple[Rows, NDArray[np.intp]]:
    """Check everything; rows of weight zero are left out, and the numbers of the others told."""
    held, outcomes = check_forecast(forecast, y)
    _check_range(outcomes)
    weight = as_weights(sample_weight, len(outcomes))
    if weight is None:
        return Rows(held, outcomes, None), np.arange(len(outcomes))
    there = np.flatnonzero(weight > 0.0)
    return Rows(held, outcomes, weight).take(there), there


def _check_range(y: Floats) -> None:
    """Raise ValueError where doubles have no room for what is computed of the outcomes."""
    low, high = float(y.min()), float(y.max())
    largest = max(abs(low), abs(high))
    span = min(high, _LARGEST) - max(low, -_LARGEST)
    if largest > _LARGEST or 0.0 < span < _SMALLEST:
        size = f"{largest:.3g} in size" if largest > _LARGEST else f"{span:.3g} apart"
        raise ValueError(
            f"y holds outcomes that are {size}, and doubles have no room for their differences and "
            "areas: rescale the outcome, and the forecasts with it."
        )


def _of_mean_one(weight: Floats) -> Floats:
    share = weight / weight.max()
    return np.asarray(share / share.mean())
