"""Sums of what happened minus what was forecast, by how likely the forecast thought it."""

from __future__ import annotations

from typing import Any

from calibrant.kernels.compiling import kernel


@kernel
def add_residuals(cdf: Any, y: Any, threshold: Any, weight: Any, levels: Any, sums: Any) -> None:
    """Add w (1[y <= threshold] - F) of each row to the entry of its number of levels <= F.

    `cdf` (n,) holds F(threshold), `levels` (L,) ascend, `sums` is (L + 1,).
    """
    n_levels = len(levels)
    for i in range(len(cdf)):
        value = cdf[i]
        low, high = 0, n_levels
        while low < high:
            middle = (low + high) >> 1
            if levels[middle] <= value:
                low = middle + 1
            else:
                high = middle
        happened = 1.0 if y[i] <= threshold else 0.0
        sums[low] += weight[i] * (happened - value)
