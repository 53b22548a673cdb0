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
    weight = as_weights(sample_weight, len(outcomes))
    if weight is None:
        return Rows(held, outcomes, None), np.arange(len(outcomes))
    there = np.flatnonzero(weight > 0.0)
    return Rows(held, outcomes, weight).take(there), there


def _of_mean_one(weight: Floats) -> Floats:
    share = weight / weight.max()
    return np.asarray(share / share.mean())
