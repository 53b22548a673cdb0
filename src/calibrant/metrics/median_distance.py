"""The median distance over all pairs of rows, exactly, without holding the pairs."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import FloatArray
from calibrant.parallel import in_order

_SHIFTS = (48, 32, 16, 0)
_N_DIGITS = 1 << 16
# Counts of pairs must fit 64-bit integers.
_MOST_ROWS = 2**31


def median_distance(prob: FloatArray, weight: NDArray[np.float64] | None) -> float:
    """Median of |p_i - p_j| of (n,), or of the Euclidean distance of (n, K), over pairs i < j.

    A row of weight w stands for w rows. Time O(n log n) for (n,), O(n^2 K) for (n, K); memory O(n).
    """
    copies = None if weight is None else _copies(weight)
    if copies is not None:
        prob, copies = prob[copies > 0], copies[copies > 0]
    n = len(prob) if copies is None else int(copies.sum())
    n_pairs = n * (n - 1) // 2
    if n_pairs == 0:
        raise ValueError("bandwidth='median' needs at least two rows: pass a number instead.")
    middle = (n_pairs + 1) // 2
    find = _line_quantile if prob.ndim == 1 else _simplex_quantile
    low, high = find(prob, copies, middle)
    median = low if n_pairs % 2 else (low + high) / 2
    if median == 0.0:
        raise ValueError(
            "bandwidth='median' is 0, since at least half of the pairs of rows have equal "
            "predictions: pass a positive number instead."
        )
    return median


def _copies(weight: NDArray[np.float64]) -> NDArray[np.int64]:
    if (weight != np.floor(weight)).any() or weight.sum() >= _MOST_ROWS:
        raise ValueError(
            "bandwidth='median' counts pairs of rows, so that sample_weight must hold whole "
            f"numbers that sum to less than {_MOST_ROWS}: pass a number as bandwidth instead."
        )
    return weight.astype(np.int64)


def _line_quantile(
    prob: FloatArray, copies: NDArray[np.int64] | None, rank: int
) -> tuple[float, float]:
    """The distances of this rank and of the next, counted from 1."""
    from calibrant.kernels import gaps

    values = prob.astype(np.float64, copy=False)
    if copies is None:
        ordered, position = np.sort(values), None
    else:
        order = np.argsort(values)
        ordered, position = values[order], np.concatenate([[0], np.cumsum(copies[order])])
    # Non-negative doubles sort as their bits do: bisect between the bits of 0 and of the range.
    low, high = -1, int((ordered[-1] - ordered[0]).view(np.int64))
    while high - low > 1:
        middle = (low + high) // 2
        if gaps.count_within(ordered, position, _double(middle)) >= rank:
            high = middle
        else:
            low = middle
    distance = _double(high)
    if gaps.count_within(ordered, position, distance) > rank:
        return distance, distance
    return distance, float(gaps.next_distance(ordered, distance))


def _simplex_quantile(
    prob: FloatArray, copies: NDArray[np.int64] | None, rank: int
) -> tuple[float, float]:
    """The same by radix selection: 16 bits of the distance are settled in each pass."""
    from calibrant.kernels import simplex

    pieces = simplex.pieces(len(prob))

    def count(prefix: int, shift: int, piece: range) -> NDArray[np.int64]:
        counts = np.zeros(_N_DIGITS, dtype=np.int64)
        for first in piece:
            simplex.count_distances(prob, copies, first, prefix, shift, counts)
        return counts

    def next_distance(distance: float, piece: range) -> float:
        return float(min(simplex.next_distance(prob, first, distance) for first in piece))

    prefix = 0
    for shift in _SHIFTS:
        counts = np.zeros(_N_DIGITS, dtype=np.int64)
        for part in in_order(partial(count, prefix, shift), pieces):
            counts += part
        if copies is not None and prefix == 0:
            counts[0] += int((copies * (copies - 1) // 2).sum())
        reached = np.cumsum(counts)
        digit = int(np.searchsorted(reached, rank))
        rank -= int(reached[digit] - counts[digit])
        prefix = prefix << 16 | digit
    distance = _double(prefix)
    if rank < counts[digit]:
        return distance, distance
    return distance, min(in_order(partial(next_distance, distance), pieces))


def _double(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))
