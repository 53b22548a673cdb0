"""Percentile bootstrap intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def percentile_interval(
    estimate: Any, values: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quantiles of replicates along the first axis, widened to hold the estimate."""
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
    return np.minimum(low, estimate), np.maximum(high, estimate)
