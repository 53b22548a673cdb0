"""Seeded data with a known, mild miscalibration."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from contenders import Data


def binary(n: int) -> Data:
    """Overconfident, slightly biased scores `s`, their probabilities `p`, labels `y` (int64)."""
    rng = np.random.default_rng(1)
    s = rng.normal(-0.5, 2.0, n)
    y = (rng.random(n) < expit(0.7 * s + 0.3)).astype(np.int64)
    return {"y": y, "p": expit(s), "s": s}


def multiclass(n: int, n_classes: int) -> Data:
    """Overconfident logits `Z` (n, K), their probabilities `P`, labels `y` (int64)."""
    rng = np.random.default_rng(2)
    z = rng.normal(0.0, 1.5, (n, n_classes))
    z += np.linspace(0.0, 1.0, n_classes)
    y = (softmax(z, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    Z = 2.0 * (z - np.linspace(0.0, 0.5, n_classes))
    return {"y": np.minimum(y, n_classes - 1), "Z": Z, "P": softmax(Z, axis=1)}


def forecasts(n: int) -> Data:
    """Means `mu` and standard deviations `sigma` of normal forecasts, and outcomes `Y`.

    The forecaster does not know how the spread depends on the mean, so no single map repairs it.
    """
    rng = np.random.default_rng(3)
    mu = rng.normal(size=n)
    sigma = rng.uniform(0.5, 1.5, size=n)
    return {"mu": mu, "sigma": sigma, "Y": mu + np.exp(0.5 * mu) * rng.standard_t(5, size=n)}
