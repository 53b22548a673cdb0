"""Sums over all pairs of e_i e_j exp(-|r_i - r_j| / h) for numbers r, without visiting the pairs.

Rows are sorted by r. With decay_i = exp(-(r_i - r_{i-1}) / h), a sum over all earlier rows is moved
on from one row to the next by a multiplication, since exponentials of distances along a line
multiply. Nothing can overflow, as every factor is at most one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiling import kernel

# Replicates that run abreast, one for each bit of a 64-bit word of random signs.
N_ABREAST = 64

BIT = np.uint64(1) << np.arange(N_ABREAST, dtype=np.uint64)


def sorted_sample(
    prob: NDArray[np.float64], hit: NDArray[Any], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities in ascending order, their residuals hit - prob, and those times the weight."""
    if weight is not None:
        order = np.argsort(prob, kind="stable")
        ordered = prob[order]
        residual = hit[order] - ordered
        return ordered, residual, weight[order] * residual
    # The bits of doubles in [0, 1] sort as the doubles do, and the two highest ones are never set
    # (but for the sign of -0.0): moved up by one they leave room for the outcome. Sorting such keys
    # is several times faster than finding the order of the rows and gathering.
    keys = prob.view(np.uint64) << 1
    keys |= hit
    keys.sort()
    residual = (keys & 1).astype(np.float64)
    keys >>= 1
    ordered = keys.view(np.float64)
    residual -= ordered
    return ordered, residual, residual


def decays(ordered: NDArray[np.float64], bandwidth: float) -> NDArray[np.float64]:
    """exp(-(r_i - r_{i-1}) / h) of ascending numbers; the first one is 1."""
    decay = np.zeros(len(ordered))
    np.subtract(ordered[:-1], ordered[1:], out=decay[1:])
    with np.errstate(over="ignore", under="ignore"):
        decay /= bandwidth
        return np.exp(decay, out=decay)


@kernel
def pair_sum(decay: Any, residual: Any) -> Any:
    """The sum over pairs i < j."""
    total = 0.0
    earlier = 0.0
    for i in range(len(decay)):
        earlier *= decay[i]
        total += residual[i] * earlier
        earlier += residual[i]
    return total


@kernel
def smooth(decay: Any, residual: Any, smoothed: Any) -> None:
    """smoothed_i = mean over all j of e_j exp(-|r_i - r_j| / h)."""
    n = len(decay)
    earlier = 0.0
    for i in range(n):
        earlier = earlier * decay[i] + residual[i]
        smoothed[i] = earlier
    later = 0.0
    for i in range(n - 1, -1, -1):
        smoothed[i] = (smoothed[i] + later) / n
        later = (later + residual[i]) * decay[i]


@kernel
def add_signed_rows(
    decay: Any, residual: Any, smoothed: Any, words: Any, bit: Any,
    running: Any, quadratic: Any, linear: Any, total: Any,
) -> None:  # fmt: skip
    """Take the next rows into the sums of N_ABREAST replicates, which multiply them by signs w.

    quadratic: sum over pairs i <= j of w_i w_j e_i e_j exp(-|r_i - r_j| / h); linear: sum of
    w_i e_i smoothed_i; total: sum of w_i. `running` carries the sum over earlier rows.
    """
    for i in range(len(decay)):
        d = decay[i]
        e = residual[i]
        c = smoothed[i]
        word = words[i]
        for r in range(N_ABREAST):
            sign = 1.0 if (word & bit[r]) != 0 else -1.0
            x = sign * e
            b = d * running[r] + x
            running[r] = b
            quadratic[r] += x * b
            linear[r] += x * c
            total[r] += sign
