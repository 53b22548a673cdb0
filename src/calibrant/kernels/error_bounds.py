r"""Bounds of the groups' average calibration errors from sums over bins of the PIT.

Within a bin [x0, x1] a group's empirical distribution F ascends from F0 to F1. Its integral there
is known from the sum of the PITs in the bin, so that D = int (F - c) dc is too, and |D| is a lower
bound of int |F - c| dc. If D >= 0, the part of F - c below zero has at most the area N of
(c - F0)^+, since F >= F0, and |D| + 2 N is an upper bound; in mirror image if D < 0. The two bounds
differ only in bins where F may cross the diagonal, and by at most the square of the bin's width.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiling import kernel


@kernel
def bin_sums(
    pit: Any, weight: Any, key: Any, cutoffs: Any, cells: Any, n_bins: Any, sums: Any
) -> None:
    """Add the weight and the weighted PIT of each row to ``sums[bin of pit, bucket of key]``.

    The bucket is the number of cutoffs < key: the row is in the lower group of those from there on.
    `cells` (n_cells + 2,) holds the bucket of c / n_cells for each c.
    """
    n_cells = len(cells) - 2
    last = n_bins - 1
    for i in range(len(pit)):
        value = key[i]
        cell = np.uint64(value * n_cells)
        bucket = np.uint64(cells[cell])
        while bucket < cells[cell + np.uint64(1)] and cutoffs[bucket] < value:
            bucket += np.uint64(1)
        b = np.uint64(min(int(pit[i] * n_bins), last))
        sums[b, bucket, 0] += weight[i]
        sums[b, bucket, 1] += weight[i] * pit[i]


@kernel
def add_bins(group: Any, pits: Any, per: Any, least: Any, most: Any) -> None:
    """Add the bounds of one group for each cutoff."""
    n_bins, n_cutoffs = group.shape
    width = 1.0 / n_bins
    start = np.zeros(n_cutoffs)
    for b in range(n_bins):
        x0, x1 = b * width, (b + 1) * width
        middle = (x0 + x1) * 0.5 * width
        for k in range(n_cutoffs):
            f0 = start[k]
            f1 = f0 + group[b, k] * per[k]
            start[k] = f1
            area = f0 * width + (f1 - f0) * x1 - pits[b, k] * per[k] - middle
            # Where F is above the diagonal on the whole, how far it may still dip below.
            reach = x1 - f0 if area >= 0.0 else f1 - x0
            reach = reach if reach > 0.0 else 0.0
            beyond = reach - width if reach > width else 0.0
            least[k] += abs(area)
            most[k] += abs(area) + reach * reach - beyond * beyond


@kernel
def add_error_bounds(sums: Any, below: Any, least: Any, most: Any) -> None:
    """Bounds of the sum of both groups' errors for each cutoff, from `bin_sums`.

    The results of shape (L,) must come in as zeros; `below` is the weight of the lower group. Where
    a group is empty the bounds mean nothing.
    """
    n_bins, n_buckets = sums.shape[0], sums.shape[1]
    n_cutoffs = n_buckets - 1
    all_weight, all_pits = np.empty(n_bins), np.empty(n_bins)
    group, pits = np.empty((n_bins, n_cutoffs)), np.empty((n_bins, n_cutoffs))
    for b in range(n_bins):
        reached, reached_pits = 0.0, 0.0
        for k in range(n_cutoffs):
            reached += sums[b, k, 0]
            reached_pits += sums[b, k, 1]
            group[b, k] = reached
            pits[b, k] = reached_pits
        all_weight[b] = reached + sums[b, n_cutoffs, 0]
        all_pits[b] = reached_pits + sums[b, n_cutoffs, 1]
    for b in range(n_bins):
        for k in range(n_cutoffs):
            below[k] += group[b, k]
    total = all_weight.sum()
    per = np.empty(n_cutoffs)
    for k in range(n_cutoffs):
        per[k] = 1.0 / below[k] if below[k] > 0.0 else 0.0
    add_bins(group, pits, per, least, most)
    for b in range(n_bins):
        for k in range(n_cutoffs):
            group[b, k] = all_weight[b] - group[b, k]
            pits[b, k] = all_pits[b] - pits[b, k]
    for k in range(n_cutoffs):
        per[k] = 1.0 / (total - below[k]) if total > below[k] else 0.0
    add_bins(group, pits, per, least, most)


@kernel
def error_bounds(
    pit: Any, weight: Any, keys: Any, cutoffs: Any, cells: Any, n_bins: Any, found: Any
) -> None:
    """`add_error_bounds` for each row of `keys` (m, n); `found` (3, m, L) must come in as zeros."""
    sums = np.empty((n_bins, len(cutoffs) + 1, 2))
    for j in range(len(keys)):
        sums[:] = 0.0
        bin_sums(pit, weight, keys[j], cutoffs, cells, n_bins, sums)
        add_error_bounds(sums, found[0, j], found[1, j], found[2, j])
