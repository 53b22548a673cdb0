"""Row sums of the logistic and temperature models, over blocks of rows that stay in the cache.

NumPy and not compiled: its vectorised exponential is what the time goes into. Blocks have a fixed
size and are added in order, and each is too small for BLAS to split, so that the sums do not depend
on the number of threads.

The logistic model is written with signed columns. With s = 1 for a positive row and -1 for a
negative one, the columns are s times the features (s itself for the intercept), and the margin
u = theta . column is large where the row is fitted well. A row's loss is

    log(1 + exp(-u)) + delta u

where delta is how far its target is from the label (0 for plain labels). Small probabilities of
either class keep their relative precision this way. The term in delta is linear: it comes in as
`slant`, the sum of w delta over the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import FloatArray

Floats = NDArray[np.float64]

_ENTRIES = 32_768
_MANY_CLASSES = 100
_NEGLIGIBLE = -700.0  # beyond it the exponential is subnormal, which is slow, or logits overflow


def blocks(n: int, width: int = 1) -> Iterator[slice]:
    """Slices of the rows, with `width` numbers a row, of about as many numbers each."""
    rows = max(1, _ENTRIES // width)
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def expit_in_place(x: Floats) -> Floats:
    """Replace log-odds by probabilities."""
    with np.errstate(over="ignore"):  # exp(inf) gives the right limit, 0
        for rows in blocks(len(x)):
            _expit(x[rows])
    return x


def _expit(x: Floats) -> None:
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1.0
    np.reciprocal(x, out=x)


def logistic_derivatives(
    columns: Floats, weight: Floats | None, slant: Floats, theta: Floats
) -> tuple[Floats, Floats]:
    """Gradient (d,) and Hessian (d, d) of the summed loss; `columns` is (d, n)."""
    gradient, hessian = slant.copy(), np.zeros((len(theta), len(theta)))
    with np.errstate(over="ignore"):
        # BLAS splits dot products of more than 10,000 numbers, and then sums differ with threads.
        for rows in blocks(columns.shape[1], 4):
            block = columns[:, rows]
            miss = -theta @ block
            _expit(miss)
            pull = miss if weight is None else miss * weight[rows]
            curvature = 1.0 - miss
            curvature *= pull
            for i, column in enumerate(block):
                gradient[i] -= column @ pull
                curved = column * curvature
                for j in range(i + 1):
                    hessian[i, j] += curved @ block[j]
    return gradient, np.tril(hessian) + np.tril(hessian, -1).T


def logistic_loss(columns: Floats, weight: Floats | None, slant: Floats, theta: Floats) -> float:
    """The summed loss."""
    total = float(slant @ theta)
    for rows in blocks(columns.shape[1], 2):
        margin = theta @ columns[:, rows]
        loss = np.log1p(np.exp(-np.abs(margin)))
        loss -= np.minimum(margin, 0.0)
        total += _sum(loss, weight, rows)
    return total


def temperature_derivatives(
    logits: FloatArray, codes: NDArray[np.intp], weight: Floats | None, inverse: float
) -> tuple[float, float]:
    """First and second derivative of the summed loss in the inverse temperature.

    Those of a row are the mean of the logits under the softmax less the logit of the class that
    happened, and their variance.
    """
    slope = curvature = 0.0
    for rows in blocks(*logits.shape):
        scaled = _scaled(logits[rows], inverse)
        own = _take(scaled, codes[rows])
        np.maximum(scaled, _NEGLIGIBLE, out=scaled)
        share = np.exp(scaled)
        total = share.sum(axis=1)
        mean = np.einsum("ij,ij->i", share, scaled) / total
        share *= scaled
        variance = np.einsum("ij,ij->i", share, scaled) / total - mean * mean
        slope += _sum(mean - own, weight, rows)
        curvature += _sum(variance, weight, rows)
    return slope / inverse, curvature / inverse**2


def temperature_loss(
    logits: FloatArray, codes: NDArray[np.intp], weight: Floats | None, inverse: float
) -> float:
    """The summed loss at an inverse temperature."""
    total = 0.0
    for rows in blocks(*logits.shape):
        scaled = _scaled(logits[rows], inverse)
        own = _take(scaled, codes[rows])
        total += _sum(np.log(np.exp(scaled, out=scaled).sum(axis=1)) - own, weight, rows)
    return total


def _scaled(logits: FloatArray, inverse: float) -> Floats:
    """Logits over the temperature, less their row maximum."""
    # Columns one after the other make sums over few classes several times faster.
    order: Literal["C", "F"] = "F" if logits.shape[1] < _MANY_CLASSES else "C"
    scaled = np.array(logits, dtype=np.float64, order=order)
    with np.errstate(over="ignore"):  # logits further apart than the largest double
        scaled -= scaled.max(axis=1, keepdims=True)
        scaled *= inverse
    return scaled


def _take(scaled: Floats, codes: NDArray[np.intp]) -> Floats:
    own: Floats = scaled[np.arange(len(codes)), codes]
    return own


def _sum(values: Floats, weight: Floats | None, rows: slice) -> float:
    return float(values.sum() if weight is None else (values * weight[rows]).sum())
