"""What chance alone does, by the number of rows; weighted rows amount to Kish's number of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def effective_size(n: int, weight: Floats | None) -> float:
    """Kish's effective number of rows.

    Kish, L. (1965). Survey Sampling. Wiley.
    """
    if weight is None:
        return float(n)
    share = weight / weight.max()  # squares of the weights themselves may overflow
    return float(share.sum() ** 2 / (share @ share))


def error_by_chance(size: float | Floats) -> Floats:
    """The average calibration error of so many calibrated rows, about: its limit in n."""
    return np.asarray(np.sqrt(np.pi / 32.0) / np.sqrt(size))
