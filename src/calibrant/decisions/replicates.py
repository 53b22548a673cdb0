"""Bootstrap resamples of costs: means of each resample, and intervals from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.decisions.losses import Floats

if TYPE_CHECKING:
    from calibrant.inference.resamples import Resamples


def column_sums(columns: Sequence[Floats], resamples: Resamples) -> Floats:
    """Sums of columns (n,) over the rows of each resample, (n_resamples, columns)."""
    from calibrant.kernels import resampling

    matrix = np.column_stack(columns)

    def statistic(replicates: slice) -> Floats:
        total = np.zeros((resampling.N_ABREAST, matrix.shape[1]))
        for rows, m in resamples.blocks(replicates):
            total += m.T.astype(np.float64) @ matrix[rows]
        return total

    return resamples.evaluate(statistic, resampling.N_ABREAST)


def bucket_sums(
    bucket: NDArray[np.uint32], residual: Floats, n_buckets: int, finish: Any, resamples: Resamples
) -> Floats:
    """What `finish` makes of the sums of residuals by threshold and bucket, for each resample.

    `finish` turns (thresholds, buckets, R) into (R, ...), `bucket` and `residual` are
    (thresholds, n).
    """
    from calibrant.kernels import decision_sums, resampling

    def statistic(replicates: slice) -> Floats:
        sums = np.zeros((len(bucket), n_buckets, resampling.N_ABREAST))
        for rows, m in resamples.blocks(replicates):
            decision_sums.add_residuals(bucket, residual, rows.start, m, sums)
        return np.asarray(finish(sums))

    return resamples.evaluate(statistic, resampling.N_ABREAST)
