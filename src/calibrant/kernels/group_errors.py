r"""Average calibration errors of the rows below and above each of several cutoffs, in one pass.

A group's error is the area between the distribution of its PITs and the uniform one,
int_0^1 |P(PIT <= c) - c| dc. Where the sorted PIT u of a row lifts the empirical distribution from
a to b, the row adds h(u - a) - h(u - b) with h(x) = x |x| / 2. With e = u - (a + b) / 2 and
d = b - a that is |e| d, or e^2 + d^2 / 4 where |e| < d / 2: exact, and without cancellation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiling import kernel


@kernel
def add_group_errors(
    pit: Any, weight: Any, key: Any, cutoffs: Any, below: Any, lower: Any, upper: Any
) -> None:
    """Errors of the rows with key <= cutoff and of the others, for each cutoff.

    `pit` (n,) ascends, `weight` and `key` (n,) are in its order. The results of shape (L,) must
    come in as zeros: `below` is the weight of the lower group, `lower` and `upper` are the errors.
    An empty group has none.
    """
    n, n_cutoffs = len(pit), len(cutoffs)
    total = 0.0
    for i in range(n):
        total += weight[i]
        for k in range(n_cutoffs):
            below[k] += weight[i] if key[i] <= cutoffs[k] else 0.0
    per_lower, per_upper = np.empty(n_cutoffs), np.empty(n_cutoffs)
    reached = np.zeros(n_cutoffs)
    for k in range(n_cutoffs):
        above = total - below[k]
        per_lower[k] = 1.0 / below[k] if below[k] > 0.0 else 0.0
        per_upper[k] = 1.0 / above if above > 0.0 else 0.0
    before = 0.0
    for i in range(n):
        u, w, value = pit[i], weight[i], key[i]
        for k in range(n_cutoffs):
            inside = value <= cutoffs[k]
            start = reached[k] if inside else before - reached[k]
            share = per_lower[k] if inside else per_upper[k]
            distance = abs(u - (start + 0.5 * w) * share)
            half = 0.5 * w * share
            area = 2.0 * half * distance if distance >= half else distance**2 + half**2
            lower[k] += area if inside else 0.0
            upper[k] += 0.0 if inside else area
            reached[k] += w if inside else 0.0
        before += w


@kernel
def group_errors_at(pit: Any, weight: Any, key: Any, cutoff: Any) -> Any:
    """The sum of the same two errors for one cutoff; neither group may be empty."""
    n = len(pit)
    # Rows are sorted out without a branch, which could not be foretold.
    group_pit, group_weight = np.empty((2, n + 1)), np.empty((2, n + 1))
    n_lower, n_upper = 0, 0
    for i in range(n):
        inside = key[i] <= cutoff
        group_pit[0, n_lower], group_weight[0, n_lower] = pit[i], weight[i]
        group_pit[1, n_upper], group_weight[1, n_upper] = pit[i], weight[i]
        n_lower += 1 if inside else 0
        n_upper += 0 if inside else 1
    error = 0.0
    for g in range(2):
        size = n_upper if g else n_lower
        per = 1.0 / group_weight[g, :size].sum()
        start = 0.0
        for i in range(size):
            w = group_weight[g, i]
            distance = abs(group_pit[g, i] - (start + 0.5 * w) * per)
            half = 0.5 * w * per
            error += 2.0 * half * distance if distance >= half else distance**2 + half**2
            start += w
    return error
