"""The kernel of the table's resamples against loops."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.decision_sums import add_residuals
from calibrant.kernels.resampling import N_ABREAST


def test_sums_by_threshold_and_bucket():
    rng = np.random.default_rng(0)
    bucket = rng.integers(0, 4, size=(3, 30)).astype(np.uint32)
    residual = rng.normal(size=(3, 30))
    m = rng.integers(0, 4, size=(10, N_ABREAST)).astype(np.uint8)
    sums = np.ones((3, 4, N_ABREAST))
    add_residuals(bucket, residual, 15, m, sums)
    expected = np.ones_like(sums)
    for t in range(3):
        for j in range(10):
            expected[t, bucket[t, 15 + j]] += residual[t, 15 + j] * m[j]
    np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-12)
