r"""Average calibration errors that chance alone makes of a calibrated forecast.

The PITs of m rows are then m independent uniform numbers. The error times sqrt(m) tends to the
integral of the absolute value of a Brownian bridge, and is close to it for small m already: its
mean falls from 0.333 at m = 1 (where the error is u^2 - u + 1/2) to 0.313, the root of pi / 32.
Draws for a few sizes, made once and always the same, serve all others, scaled by the root of the
size.
"""

from __future__ import annotations

import functools

import numpy as np

from calibrant.forecasts.base import Floats
from calibrant.metrics.average import areas_of_steps

_SIZES = np.array([1, 2, 3, 4, 6, 9, 14, 22, 35, 60, 120, 400])
_N_DRAWS = 20_000
_SEED = 20_211_206


def null_quantiles(sizes_lower: Floats, sizes_upper: Floats, level: float) -> Floats:
    """Quantiles of the sum of the errors of two independent groups of these sizes.

    Sizes are arrays of one shape, and may be effective sizes of weighted groups; an empty group
    adds nothing. Each quantile comes from 20,000 draws: its standard error is about 0.4 % of it at
    level 0.95.
    """
    shape = np.shape(sizes_lower)
    pairs = np.stack([np.ravel(sizes_lower), np.ravel(sizes_upper)], axis=1)
    distinct, place = np.unique(pairs, axis=0, return_inverse=True)
    draws = _draws()
    quantiles = [
        np.quantile(_errors(draws[0], lower) + _errors(draws[1], upper), level)
        for lower, upper in distinct
    ]
    return np.asarray(np.array(quantiles)[place.ravel()].reshape(shape))


def _errors(draws: Floats, size: float) -> Floats:
    if size <= 0.0:
        return np.zeros(1)
    nearest = int(np.abs(np.log(_SIZES / size)).argmin())
    return np.asarray(draws[nearest] / np.sqrt(size))


@functools.cache
def _draws() -> Floats:
    """Errors times the root of the size, (2, sizes, draws)."""
    rng = np.random.default_rng(_SEED)
    draws = np.empty((2, len(_SIZES), _N_DRAWS))
    for k, m in enumerate(_SIZES):
        for stream in range(2):
            draws[stream, k] = np.sqrt(m) * _uniform_errors(rng, int(m))
    return draws


def _uniform_errors(rng: np.random.Generator, m: int) -> Floats:
    """Errors of `_N_DRAWS` samples of m uniform numbers."""
    errors = np.empty(_N_DRAWS)
    middles = (np.arange(m) + 0.5) / m
    half = 0.5 / m
    for start in range(0, _N_DRAWS, 2000):
        u = np.sort(rng.random((2000, m)), axis=1)
        errors[start : start + 2000] = areas_of_steps(u, middles, half).sum(axis=1)
    return errors
