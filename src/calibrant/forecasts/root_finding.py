"""Quantiles of CDFs without a closed form, to the last few digits; steps are fine too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_EPS = np.finfo(np.float64).eps
_TINY = np.finfo(np.float64).tiny
_LARGEST = np.finfo(np.float64).max / 4.0  # differences do not overflow

_N_HALVINGS = 20
_MAX_ITERATIONS = 200


def invert(cdf: Callable[[Floats], Floats], p: Floats, low: Floats, high: Floats) -> Floats:
    """The smallest y in [low, high] with ``cdf(y) >= p``; the ends themselves for p of 0 and 1.

    Chandrupatla's method (1997, Advances in Engineering Software 28): inverse quadratic steps where
    the last points support them, else bisection, until the bracket is a few units in the last
    place wide. That takes about ten evaluations for smooth CDFs.

    Parameters
    ----------
    cdf : callable
        Takes points of the shape of `p`, gives as many values; it is at least `p` at `high`.
    p, low, high : numpy.ndarray
        Probabilities and ends of brackets, all of one shape.
    """
    noise = 4.0 * _EPS * p
    at_end = (p == 0.0) | (p == 1.0)
    a, b = (np.where(at_end, 0.0, np.clip(end, -_LARGEST, _LARGEST)) for end in (low, high))
    f_a, f_b = cdf(a) - p, np.maximum(cdf(b) - p, 0.0)
    b = np.where(f_a >= 0.0, a, b)
    t, reach = np.full(p.shape, np.nan), np.ones(p.shape)
    for iteration in range(_MAX_ITERATIONS):
        width = np.abs(b - a)
        tolerance = 4.0 * _EPS * np.maximum(np.abs(a), np.abs(b)) + _TINY
        at_root = np.abs(f_a) <= noise
        unfinished = (width > tolerance) & ~(at_root & (np.abs(f_b) <= noise))
        if not unfinished.any():
            break
        # At the root but for rounding: look for the other side nearby, then further and further.
        reach = np.where(at_root, np.minimum(8.0 * reach, 1.0 / _EPS), 1.0)
        shortest = np.minimum(reach * (tolerance / np.maximum(width, tolerance)), 0.5)
        nearby = np.where(shortest < 0.5, shortest, np.nan)
        t = np.where(at_root, nearby, np.clip(t, shortest, 1.0 - shortest))
        x = np.where(unfinished, _between(a, b, t, iteration), a)
        f_x = cdf(x) - p
        # a becomes the latest point, b stays on the other side of the quantile.
        same = (f_x >= 0.0) == (f_a >= 0.0)
        c, f_c = np.where(same, a, b), np.where(same, f_a, f_b)
        b, f_b = np.where(same, b, a), np.where(same, f_b, f_a)
        a, f_a = x, f_x
        t = _inverse_quadratic(a, b, c, f_a, f_b, f_c)
    y = np.where(f_a >= 0.0, a, b)
    return np.where(p == 0.0, low, np.where(p == 1.0, high, y))


def _between(a: Floats, b: Floats, t: Floats, iteration: int) -> Floats:
    """The point at t between a (0) and b (1), the middle where t is nan."""
    bisected = np.isnan(t)
    x = a + np.where(bisected, 0.5, t) * (b - a)
    if iteration >= _N_HALVINGS:
        # Halves of an interval are too slow for zeros and for scales far apart.
        x = np.where(bisected, _middle_double(a, b), x)
    return x


def _inverse_quadratic(
    a: Floats, b: Floats, c: Floats, f_a: Floats, f_b: Floats, f_c: Floats
) -> Floats:
    """Where between a (0) and b (1) the CDF reaches the level, nan where bisection is safer."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        xi = (a - b) / (c - b)
        phi = (f_a - f_b) / (f_c - f_b)
        t = f_a / (f_b - f_a) * f_c / (f_b - f_c)
        t += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        return np.where((phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi), t, np.nan)


def _middle_double(a: Floats, b: Floats) -> Floats:
    """The double with as many doubles between it and `a` as between it and `b`."""
    i, j = _rank(a), _rank(b)
    middle = (i >> 1) + (j >> 1) + (i & j & 1)
    return _rank(middle.view(np.float64)).view(np.float64)


def _rank(x: Floats) -> NDArray[np.int64]:
    """Integers in the order of the doubles; the map is its own inverse on the bits."""
    bits = np.ascontiguousarray(x).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
