r"""What the unbiased squared kernel calibration error would be by chance alone.

A replicate multiplies the doubly centred kernel terms by random signs w,

.. math:: T^* = \frac{1}{n (n - 1)} \sum_{i \ne j} w_i w_j G_{ij}, \quad
          G_{ij} = h_{ij} - a_i - a_j + g,

with row means a_i, the diagonal included, and their mean g. Multiplied out, it needs of each
replicate Q = sum w_i w_j h_ij (all i, j), L = sum w_i a_i and S = sum w_i:

.. math:: n (n - 1) T^* = Q - 2 L S + g S^2 - \sum_i G_{ii}.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics.kernel_terms import KernelTerms, ScalarTerms, VectorTerms
from calibrant.parallel import Progress, in_order

# Rows whose random signs are drawn at a time: they stay in the fastest cache.
_BLOCK = 4096


class WildBootstrap(NamedTuple):
    """The unbiased estimate, and its replicates under the hypothesis of calibration (B,)."""

    estimate: float
    replicates: NDArray[np.float64]
    rounding: float
    """What replicates may differ by and still be equal."""

    @property
    def pvalue(self) -> float:
        """The share of replicates at or above the estimate, which is counted among them."""
        reached = int((self.replicates >= self.estimate - self.rounding).sum())
        return (1 + reached) / (1 + len(self.replicates))


def wild_bootstrap(
    terms: KernelTerms, n_resamples: int, rng: np.random.Generator, progress: Progress | None
) -> WildBootstrap:
    """Replicates of unweighted terms of at least two rows."""
    seed = tuple(rng.integers(0, 2**32, size=4).tolist())
    if isinstance(terms, ScalarTerms):
        return _scalar(terms, n_resamples, seed, progress)
    return _vector(terms, n_resamples, seed, progress)


def _scalar(
    terms: ScalarTerms, n_resamples: int, seed: tuple[int, ...], progress: Progress | None
) -> WildBootstrap:
    """Time O(n log n + n B); N_ABREAST replicates run abreast, with random words of their own."""
    from calibrant.kernels import laplace

    n = len(terms)
    ordered, residual, _ = laplace.sorted_sample(terms.prob, terms.hit, None)
    decay = laplace.decays(ordered, terms.bandwidth)
    smoothed = np.empty(n)
    laplace.smooth(decay, residual, smoothed)

    def run(group: int) -> NDArray[np.float64]:
        words = np.random.default_rng((*seed, group))
        running, quadratic, linear, total = np.zeros((4, laplace.N_ABREAST))
        for start in range(0, n, _BLOCK):
            rows = slice(start, min(start + _BLOCK, n))
            signs = words.integers(0, 2**64, size=rows.stop - rows.start, dtype=np.uint64)
            laplace.add_signed_rows(
                decay[rows], residual[rows], smoothed[rows], signs, laplace.BIT,
                running, quadratic, linear, total,
            )  # fmt: skip
        return np.stack([quadratic, linear, total])

    groups = range(-(-n_resamples // laplace.N_ABREAST))
    sums = np.concatenate(list(in_order(run, groups, progress)), axis=1)[:, :n_resamples]
    diagonal = float(residual @ residual)
    quadratic = 2.0 * sums[0] - diagonal
    between = 2.0 * laplace.pair_sum(decay, residual)
    return _centred(between, diagonal, residual * smoothed, quadratic, sums[1], sums[2])


def _vector(
    terms: VectorTerms, n_resamples: int, seed: tuple[int, ...], progress: Progress | None
) -> WildBootstrap:
    """Time O(n^2 (K + B)), memory O(n B / 8) bytes for the signs."""
    from calibrant.kernels import simplex

    n = len(terms)
    words = np.random.default_rng(seed)
    signs = words.integers(0, 2**simplex.STEP, (-(-n // simplex.STEP), n_resamples), np.uint16)

    def run(piece: range) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        row_sums, quadratic = np.zeros(n), np.zeros(n_resamples)
        for first in piece:
            simplex.add_strip(
                terms.prob, terms.code, None, terms.bandwidth, first, row_sums, signs, quadratic
            )
        return row_sums, quadratic

    row_sums, quadratic = np.zeros(n), np.zeros(n_resamples)
    for rows, pairs in in_order(run, simplex.pieces(n), progress):
        row_sums += rows
        quadratic += pairs
    diagonal = terms.diagonal()
    row_means = (row_sums + diagonal) / n
    linear, total = np.zeros((2, n_resamples))
    simplex.add_signed_values(row_means, signs, linear)
    simplex.add_signed_values(np.ones(n), signs, total)
    squares = float(diagonal.sum())
    return _centred(
        float(row_sums.sum()), squares, row_means, 2.0 * quadratic + squares, linear, total
    )


def _centred(
    between: float,
    diagonal: float,
    row_means: NDArray[np.float64],
    quadratic: NDArray[np.float64],
    linear: NDArray[np.float64],
    total: NDArray[np.float64],
) -> WildBootstrap:
    n = len(row_means)
    pairs = n * (n - 1.0)
    mean = float(row_means.mean())
    centred_diagonal = diagonal - n * mean
    replicates = quadratic - 2.0 * linear * total + mean * total**2 - centred_diagonal
    # Between the exact and the computed sums lie some ulps of the largest terms.
    return WildBootstrap(between / pairs, replicates / pairs, 1e-12 * diagonal / pairs)
