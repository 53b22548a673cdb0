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

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import FloatArray

Floats = NDArray[np.float64]

_ENTRIES = 16_384
_NEGLIGIBLE = -800.0  # exp(-800) is 0: below it only overflow could come


def blocks(n: int, width: int = 1) -> Iterator[slice]:
    """Slices of the rows, of about as many entries each, for rows of `width` numbers."""
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
        for rows in blocks(columns.shape[1], 2):
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
        total += float(loss.sum() if weight is None else loss @ weight[rows])
    return total


def temperature_derivatives(
    logits: FloatArray,
    largest: Floats,
    codes: NDArray[np.intp],
    weight: Floats | None,
    inverse: float,
) -> tuple[float, float]:
    """First and second derivative of the summed loss in the inverse temperature.

    `logits` is (n, K), `largest` its row maxima. The derivatives of a row are the mean of the
    logits under the softmax less the logit of the class that happened, and their variance.
    """
    n, width = logits.shape
    ones = np.ones(width)
    slope = curvature = 0.0
    for rows in blocks(n, width):
        scaled, own = _scaled(logits[rows], largest[rows], codes[rows], inverse)
        share = np.exp(scaled)
        total = share @ ones
        share *= scaled
        mean = (share @ ones) / total
        share *= scaled
        variance = (share @ ones) / total - mean * mean
        gap = mean - own
        if weight is None:
            slope += float(gap.sum())
            curvature += float(variance.sum())
        else:
            slope += float(gap @ weight[rows])
            curvature += float(variance @ weight[rows])
    return slope / inverse, curvature / inverse**2


def temperature_loss(
    logits: FloatArray,
    largest: Floats,
    codes: NDArray[np.intp],
    weight: Floats | None,
    inverse: float,
) -> float:
    """The summed loss at an inverse temperature."""
    n, width = logits.shape
    ones = np.ones(width)
    total = 0.0
    for rows in blocks(n, width):
        scaled, own = _scaled(logits[rows], largest[rows], codes[rows], inverse)
        loss = np.log(np.exp(scaled) @ ones) - own
        total += float(loss.sum() if weight is None else loss @ weight[rows])
    return total


def _scaled(
    logits: FloatArray, largest: Floats, codes: NDArray[np.intp], inverse: float
) -> tuple[Floats, Floats]:
    """Logits over the temperature with row maximum 0, and those of the classes that happened."""
    with np.errstate(over="ignore"):  # logits further apart than the largest double
        scaled = logits - largest[:, None]
        scaled *= inverse
    own = scaled[np.arange(len(codes)), codes]
    return np.maximum(scaled, _NEGLIGIBLE, out=scaled), own
