"""Sums of decision makers over bootstrap resamples, all makers in one pass over the rows."""

from __future__ import annotations

from typing import Any

from calibrant.kernels.compiling import kernel
from calibrant.kernels.resampling import N_ABREAST


@kernel
def add_residuals(bucket: Any, residual: Any, start: Any, m: Any, sums: Any) -> None:
    """Add rows start, start + 1, ... to sums (thresholds, buckets, N_ABREAST).

    `bucket` and `residual` are (thresholds, n); `m` holds the multiplicities of the rows.
    """
    for t in range(len(sums)):
        for j in range(len(m)):
            b = bucket[t, start + j]
            x = residual[t, start + j]
            for r in range(N_ABREAST):
                sums[t, b, r] += x * m[j, r]
