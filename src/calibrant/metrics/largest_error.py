r"""The largest threshold calibration error over all levels, not only those of a grid.

The error changes only at observed F(y0), so there are at most n candidates for a threshold, and
computing each takes O(n). Most need not be computed: between two levels whose lower groups weigh
a < k < b, the lower group's empirical distribution moves by at most 1 - a / k from one end, and
1 - k / b from the other, in the integral of its absolute value. So does its error, which is
therefore at most

.. math:: (e_a + e_b) / 2 + 1 - \sqrt{a / b}

in between, and likewise the upper group's. Gaps between computed levels that cannot hold the
maximum are dropped, the others are halved, until none is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.forecasts.base import Floats
from calibrant.metrics.group_errors import group_errors

# A bound within rounding of the best value cannot hide a larger one that matters.
_ROUNDING = 1e-13
_FIRST = 64


class Largest(NamedTuple):
    """The largest error of one threshold, or of each; nan where no level qualifies."""

    value: Any
    level: Any
    lower: Any
    upper: Any
    below: Any
    """Weight of the lower group; 0 where no level qualifies."""


def largest_over_levels(pit: Floats, weight: Floats, key: Floats, min_group_size: float) -> Largest:
    """The supremum over the level of the error at one threshold, and its smallest maximiser.

    Parameters
    ----------
    pit, weight : ndarray of shape (n,)
        PITs in ascending order, and weights.
    key : ndarray of shape (n,)
        F(y0) in the order of the PITs.
    min_group_size : float
        Smallest weight of both groups; at 0 an empty upper group counts, which makes the average
        calibration error one of the candidates.
    """
    order = np.argsort(key, kind="stable")
    last = np.flatnonzero(np.append(np.diff(key[order]) > 0.0, True))
    levels, below = key[order[last]], np.cumsum(weight[order])[last]
    above = below[-1] - below
    admissible = (below >= min_group_size) & (above >= min_group_size)
    levels, below, above = levels[admissible], below[admissible], above[admissible]
    if len(levels) == 0:
        return Largest(np.nan, np.nan, np.nan, np.nan, 0.0)

    lower, upper = np.full((2, len(levels)), np.nan)
    todo = np.unique(np.linspace(0, len(levels) - 1, _FIRST).astype(np.intp))
    while len(todo):
        errors = group_errors(pit, weight, key[None], levels[todo])
        lower[todo], upper[todo] = errors.lower[0], errors.upper[0]
        todo = _open_gaps(lower, upper, below, above)
    best = int(np.nanargmax(lower + upper))
    return Largest(
        float(lower[best] + upper[best]),
        float(levels[best]),
        float(lower[best]),
        float(upper[best]),
        float(below[best]),
    )


def _open_gaps(lower: Floats, upper: Floats, below: Floats, above: Floats) -> NDArray[np.intp]:
    """The middles of the gaps in which a larger error may lie."""
    known = np.flatnonzero(~np.isnan(lower))
    a, b = known[:-1], known[1:]
    ends = lower[known] + upper[known]
    moved = 2.0 - np.sqrt(below[a] / below[b]) - np.sqrt(above[b] / above[a])
    bound = (ends[:-1] + ends[1:]) / 2.0 + moved
    wide = (b - a > 1) & (bound > ends.max() - _ROUNDING)
    return np.asarray((a[wide] + b[wide]) // 2)
