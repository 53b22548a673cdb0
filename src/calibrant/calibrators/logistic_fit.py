"""Logistic regression on up to two features, to the optimum: Platt scaling, beta calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.newton import Floats, minimise
from calibrant.kernels.logistic import blocks, logistic_derivatives, logistic_loss

EPS = float(np.finfo(np.float64).eps)
# From this many numbers on, a tenth of the rows is fitted first.
LARGE = 50_000
TENTH = slice(None, None, 10)
# Features that vary by less than this count as constant: their slopes could overflow.
SMALLEST_RANGE = 1e-303


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Coefficients on the scale of the features, and how they were found."""

    intercept: float
    slopes: Floats
    constant: bool
    loss: float
    converged: bool
    n_iter: int


def fit_logistic(
    columns: Floats,
    codes: NDArray[np.intp],
    weight: Floats | None,
    smoothing: tuple[float, float] = (0.0, 0.0),
) -> LogisticFit:
    """Least mean log loss of ``inv_logit(intercept + slopes @ features)``.

    Parameters
    ----------
    columns : (1 + d, n)
        The features, after a first row whose content does not matter. Overwritten.
    codes : (n,)
        0 or 1, both present.
    weight : (n,) or None
        Positive.
    smoothing : pair of floats
        How far the targets of class 0 and of class 1 are from 0 and from 1.

    Notes
    -----
    Newton's method works on the principal components of the features. Components without variance
    are left out, which gives the coefficients of least norm where the features do not determine
    them. Time O(n) a pass, some six passes; little memory besides `columns`.
    """
    weight, total = relative_weights(weight, len(codes))
    basis, centre = _to_components(columns[1:], weight, total)
    columns = columns[: 1 + basis.shape[1]]
    columns[0] = 1.0
    columns *= 2.0 * codes - 1.0
    slant = _slant(columns, codes, weight, smoothing)
    start = np.zeros(len(columns))
    start[0] = intercept_alone(*class_totals(codes, weight), smoothing)
    if len(codes) >= LARGE:
        part = None if weight is None else weight[TENTH]
        size = float(len(codes[TENTH]) if part is None else part.sum())
        sample = np.ascontiguousarray(columns[:, TENTH])
        coarse = minimise(mean_derivatives(sample, part, slant * (size / total), size), start)
        start = coarse.point if coarse.converged else start
    optimum = minimise(mean_derivatives(columns, weight, slant, total), start)
    slopes = basis @ optimum.point[1:]
    return LogisticFit(
        intercept=float(optimum.point[0] - slopes @ centre),
        slopes=slopes,
        constant=basis.shape[1] == 0,
        loss=logistic_loss(columns, weight, slant, optimum.point) / total,
        converged=optimum.converged,
        n_iter=optimum.n_iter,
    )


def mean_derivatives(
    columns: Floats, weight: Floats | None, slant: Floats, total: float
) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Gradient and Hessian of the mean loss, as functions of the coefficients."""

    def derivatives(theta: Floats) -> tuple[Floats, Floats]:
        gradient, hessian = logistic_derivatives(columns, weight, slant, theta)
        return gradient / total, hessian / total

    return derivatives


def class_totals(codes: NDArray[np.intp], weight: Floats | None) -> tuple[float, float]:
    """Total weight of the rows of class 0 and of class 1."""
    if weight is None:
        n_1 = np.count_nonzero(codes)
        return float(len(codes) - n_1), float(n_1)
    positive = codes == 1
    with np.errstate(over="ignore"):  # infinitely many rows correct the targets by nothing
        return float(weight[~positive].sum()), float(weight[positive].sum())


def relative_weights(weight: Floats | None, n: int) -> tuple[Floats | None, float]:
    """Weights scaled to at most one, whose sums cannot overflow, and their total."""
    if weight is None:
        return None, float(n)
    weight = weight / weight.max()
    return weight, float(weight.sum())


def _to_components(features: Floats, weight: Floats | None, total: float) -> tuple[Floats, Floats]:
    """Replace features by their principal components; return how to get back.

    The first r rows become the components, where r is the rank. Returned are the directions (d, r)
    that turn slopes of the components into slopes of the features, and the centre (d,). Scores
    around 1e5 or 1e-300, or nearly equal features, lose nothing this way.
    """
    # Quarters of the features, since the range of very large doubles would overflow.
    low, high = 0.25 * features.min(axis=1), 0.25 * features.max(axis=1)
    unit = float(np.max(high - low, initial=0.0))
    if unit < SMALLEST_RANGE:
        return np.zeros((len(features), 0)), np.zeros(len(features))
    mean = np.zeros(len(features))
    for rows in blocks(features.shape[1], len(features)):
        block = features[:, rows]
        block *= 0.25
        block -= low[:, None]
        block /= unit
        mean += _weighted(block, weight, rows).sum(axis=1)
    mean /= total
    features -= mean[:, None]
    centre = 4.0 * (low + unit * mean)
    if len(features) == 1:
        return np.array([[0.25 / unit]]), centre
    # The features are rounded to eps times their size: no component is known more precisely.
    noise = 16.0 * EPS * max(1.0, float(np.abs([low, high]).max()) / unit)
    directions = _rotate(features, weight, total, noise)
    return 0.25 / unit * directions, centre


def _rotate(features: Floats, weight: Floats | None, total: float, noise: float) -> Floats:
    """Turn centred features into their principal components, the largest first.

    Returned are the directions of those with a standard deviation above `noise`.
    """
    gram = np.zeros((len(features), len(features)))
    for rows in blocks(features.shape[1], len(features)):
        block = features[:, rows]
        gram += np.einsum("ij,kj->ik", _weighted(block, weight, rows), block)
    directions = np.linalg.eigh(gram).eigenvectors[:, ::-1]
    variance = np.zeros(len(features))
    for rows in blocks(features.shape[1], len(features)):
        block = directions.T @ features[:, rows]
        features[:, rows] = block
        # Not from the eigenvalues, which tell a ratio of deviations only down to sqrt(eps).
        variance += (_weighted(block, weight, rows) * block).sum(axis=1)
    return directions[:, np.sqrt(variance / total) > noise]


def _weighted(block: Floats, weight: Floats | None, rows: slice) -> Floats:
    return block if weight is None else block * weight[rows]


def _slant(
    columns: Floats,
    codes: NDArray[np.intp],
    weight: Floats | None,
    smoothing: tuple[float, float],
) -> Floats:
    """Sum over the rows of how far the target is from the label, times the signed columns."""
    slant = np.zeros(len(columns))
    if any(smoothing):
        for rows in blocks(len(codes), len(columns)):
            block = columns[:, rows] * np.take(smoothing, codes[rows])
            slant += _weighted(block, weight, rows).sum(axis=1)
    return slant


def intercept_alone(n_0: float, n_1: float, smoothing: tuple[float, float]) -> float:
    """The optimum without features: the log-odds of the mean target."""
    towards_1 = n_1 * (1.0 - smoothing[1]) + n_0 * smoothing[0]
    towards_0 = n_0 * (1.0 - smoothing[0]) + n_1 * smoothing[1]
    return float(np.log(towards_1) - np.log(towards_0))
