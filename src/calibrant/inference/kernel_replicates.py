"""Kernel calibration errors of bootstrap resamples, from sums over pairs of rows.

A row of weight w that was drawn m times is m such rows at distance zero: it counts u = m w. So the
formulas of the metrics for weighted rows serve here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.resamples import Floats, Multiplicities, Resamples
from calibrant.inputs import Predictions
from calibrant.metrics.kernel_terms import KernelTerms, ScalarTerms, VectorTerms, kernel_terms
from calibrant.parallel import in_order


def kernel_replicates(
    data: Predictions, kind: str, estimator: str, bandwidth: float | str, resamples: Resamples
) -> Floats:
    """`skce` of the resamples; a "median" bandwidth is that of `data` in all of them."""
    terms = list(kernel_terms(data, kind, bandwidth))
    if estimator == "ul":
        return _linear(terms, resamples)
    scalar = [one for one in terms if isinstance(one, ScalarTerms)]
    if scalar:
        return _scalar(scalar, estimator, resamples)
    (vector,) = (one for one in terms if isinstance(one, VectorTerms))
    return _vector(vector, estimator, resamples)


class _Column(NamedTuple):
    """Scalar terms in the order of their probabilities."""

    order: NDArray[np.intp]
    decay: Floats
    residual: Floats
    weight: Floats | None


def _scalar(terms: Sequence[ScalarTerms], estimator: str, resamples: Resamples) -> Floats:
    """Time O(n B) for each of the terms."""
    from calibrant.kernels import resampling

    columns = [_sorted(one) for one in terms]

    def statistic(replicates: slice) -> Floats:
        if len(columns) == 1:
            # Rows are equally likely: those of a single column may be drawn in its order.
            return _estimate(_sums(columns[0], resamples.blocks(replicates)), estimator)
        m = resamples.multiplicities(replicates)
        values = [
            _estimate(_sums(column, [(slice(0, len(m)), m[column.order])]), estimator)
            for column in columns
        ]
        return np.asarray(np.mean(values, axis=0))

    return resamples.evaluate(statistic, resampling.N_ABREAST)


def _sorted(terms: ScalarTerms) -> _Column:
    from calibrant.kernels import laplace

    order = np.argsort(terms.prob, kind="stable")
    ordered = terms.prob[order]
    weight = None if terms.weight is None else terms.weight[order]
    decay = laplace.decays(ordered, terms.bandwidth)
    return _Column(order, decay, terms.hit[order] - ordered, weight)


def _sums(column: _Column, blocks: Iterable[tuple[slice, Multiplicities]]) -> Floats:
    from calibrant.kernels import resampling

    running, sums = np.zeros(resampling.N_ABREAST), np.zeros((4, resampling.N_ABREAST))
    for rows, m in blocks:
        weight = None if column.weight is None else column.weight[rows]
        resampling.add_sorted_rows(
            column.decay[rows], column.residual[rows], weight, m, running, sums
        )
    return sums


def _vector(terms: VectorTerms, estimator: str, resamples: Resamples) -> Floats:
    """Time O(n^2 (K + B)), memory O(n B) bytes for the multiplicities."""
    from calibrant.kernels import resampling, simplex

    m = resamples.multiplicities(slice(resamples.n_resamples))

    def add_pairs(piece: range) -> Floats:
        pairs = np.zeros(m.shape[1])
        for first in piece:
            resampling.add_strip(
                terms.prob, terms.code, terms.weight, terms.bandwidth, first, m, pairs
            )
        return pairs

    sums = np.zeros((4, m.shape[1]))
    for pairs in in_order(add_pairs, simplex.pieces(len(terms)), resamples.progress):
        sums[resampling.PAIRS] += pairs
    resampling.add_diagonal(terms.diagonal(), terms.weight, m, sums)
    return _estimate(sums, estimator)


def _linear(terms: list[KernelTerms], resamples: Resamples) -> Floats:
    """Time O(n K B): the disjoint pairs of a resample are pairs drawn at random."""

    def statistic(replicates: slice) -> Floats:
        rows, others = resamples.pairs(replicates.start)
        return np.array([np.mean([_of_pairs(one, rows, others).mean() for one in terms])])

    return resamples.evaluate(statistic, 1)


def _of_pairs(terms: KernelTerms, rows: NDArray[np.int64], others: NDArray[np.int64]) -> Floats:
    from calibrant.kernels import simplex

    values = np.empty(len(rows))
    prob: NDArray[Any]
    if isinstance(terms, ScalarTerms):
        # A matrix of one column, whose class is 0.
        prob, code = terms.prob[:, np.newaxis], 1 - terms.hit
    else:
        prob, code = terms.prob, terms.code
    simplex.terms_of_pairs(prob, code, terms.bandwidth, rows, others, values)
    return values


def _estimate(sums: Floats, estimator: str) -> Floats:
    """The estimates from sums (4, R), of which those over pairs count each pair once."""
    pairs, squared, single, total = sums
    values: Floats
    if estimator == "biased":
        values = np.maximum(0.0, (2.0 * pairs + squared) / total**2)
        return values
    values = np.full(len(total), np.nan)  # stays so for weights that sum to 1 or less: no pairs
    unbiased = 2.0 * pairs + (squared - single)
    np.divide(unbiased, total * (total - 1.0), out=values, where=total > 1.0)
    return values
