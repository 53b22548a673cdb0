"""The kernel terms h_ij = <e_i, e_j> exp(-||p_i - p_j|| / h) of a data set, and their sums.

Estimators and tests know the terms by their sums only; the two classes here are the scalar and the
vector kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import FloatArray, Predictions
from calibrant.metrics.median_distance import median_distance
from calibrant.parallel import in_order

KINDS = ("canonical", "confidence", "classwise")

Weights = NDArray[np.float64] | None


class KernelSums(NamedTuple):
    """Sums of kernel terms of weighted rows."""

    between: float
    """Over i != j of w_i w_j h_ij."""
    squared: float
    """Over i of w_i^2 h_ii."""
    single: float
    """Over i of w_i h_ii."""


@dataclass(frozen=True, slots=True)
class ScalarTerms:
    """Probabilities `prob` (n,) of something that happened where `hit` (n,) is 1."""

    prob: NDArray[np.float64]
    hit: NDArray[Any]
    weight: Weights
    bandwidth: float

    def __len__(self) -> int:
        return len(self.prob)

    def sums(self) -> KernelSums:
        """Time O(n log n), memory O(n)."""
        from calibrant.kernels import laplace

        ordered, residual, weighted = laplace.sorted_sample(self.prob, self.hit, self.weight)
        between = 2.0 * laplace.pair_sum(laplace.decays(ordered, self.bandwidth), weighted)
        return KernelSums(between, float(weighted @ weighted), float(weighted @ residual))

    def disjoint_pairs(self) -> NDArray[np.float64]:
        """The terms of rows 0 and 1, 2 and 3, ...; the last of an odd number is left out."""
        stop = len(self) // 2 * 2
        first, second = self.prob[0:stop:2], self.prob[1:stop:2]
        with np.errstate(over="ignore", under="ignore"):
            kernel = np.exp(-np.abs(first - second) / self.bandwidth)
        terms: NDArray[np.float64] = kernel * (self.hit[0:stop:2] - first)
        terms *= self.hit[1:stop:2] - second
        return terms


@dataclass(frozen=True, slots=True)
class VectorTerms:
    """Probabilities `prob` (n, K) of the classes, of which that in column `code` (n,) happened."""

    prob: FloatArray
    code: NDArray[Any]
    weight: Weights
    bandwidth: float

    def __len__(self) -> int:
        return len(self.prob)

    def sums(self) -> KernelSums:
        """Time O(n^2 K), memory O(n)."""
        from calibrant.kernels import simplex

        def add_pairs(piece: range) -> float:
            row_sums = np.zeros(len(self))
            for first in piece:
                simplex.add_strip(
                    self.prob, self.code, self.weight, self.bandwidth, first, row_sums, None, None
                )
            return float(row_sums.sum())

        between = sum(in_order(add_pairs, simplex.pieces(len(self))))
        diagonal = self.diagonal()
        weight = np.ones(len(self)) if self.weight is None else self.weight
        return KernelSums(between, float(weight**2 @ diagonal), float(weight @ diagonal))

    def diagonal(self) -> NDArray[np.float64]:
        """The terms h_ii = <e_i, e_i>."""
        rows = np.arange(len(self))
        return self._of_pairs(rows, rows)

    def disjoint_pairs(self) -> NDArray[np.float64]:
        """The terms of rows 0 and 1, 2 and 3, ...; the last of an odd number is left out."""
        stop = len(self) // 2 * 2
        return self._of_pairs(np.arange(0, stop, 2), np.arange(1, stop, 2))

    def _of_pairs(self, rows: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
        from calibrant.kernels import simplex

        terms = np.empty(len(rows))
        simplex.terms_of_pairs(self.prob, self.code, self.bandwidth, rows, others, terms)
        return terms


KernelTerms = ScalarTerms | VectorTerms


def kernel_terms(data: Predictions, kind: str, bandwidth: float | str) -> Iterator[KernelTerms]:
    """The terms whose statistic is wanted; where they are several, the mean of their statistics.

    They are one for two classes, whatever the kind.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be 'canonical', 'confidence' or 'classwise', got {kind!r}.")
    if data.binary:
        yield _scalar(data.prob, data.target, data.weight, bandwidth)
    elif kind == "canonical":
        h = _positive(bandwidth, data.prob, data.weight)
        yield VectorTerms(data.prob, data.target, data.weight, h)
    elif kind == "confidence":
        correct = data.prob.argmax(axis=1) == data.target
        yield _scalar(data.prob.max(axis=1), correct, data.weight, bandwidth)
    else:
        for k, column in enumerate(data.prob.T):
            happened = data.target == k
            yield _scalar(np.ascontiguousarray(column), happened, data.weight, bandwidth)


def _scalar(prob: FloatArray, hit: Any, weight: Weights, bandwidth: float | str) -> ScalarTerms:
    h = _positive(bandwidth, prob, weight)
    return ScalarTerms(prob.astype(np.float64, copy=False), hit.view(np.uint8), weight, h)


def _positive(bandwidth: float | str, prob: FloatArray, weight: Weights) -> float:
    """The bandwidth as a number."""
    if isinstance(bandwidth, str) and bandwidth == "median":
        return median_distance(prob, weight)
    number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool)
    if not number or not 0.0 < float(bandwidth) < np.inf:
        raise ValueError(f"bandwidth must be a positive number or 'median', got {bandwidth!r}.")
    return float(bandwidth)
