"""Calibration errors of the two groups into which F(y0) <= level divides the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.forecasts.base import Floats
from calibrant.parallel import in_order


class GroupErrors(NamedTuple):
    """For each threshold (row) and level (column), arrays of shape (m, L)."""

    below: Floats
    """Weight of the lower group, F(y0) <= level."""
    lower: Floats
    """Average calibration error of the lower group; 0 where it is empty."""
    upper: Floats
    """The same of the upper group, F(y0) > level."""


def group_errors(pit: Floats, weight: Floats, keys: Floats, cutoffs: Floats) -> GroupErrors:
    """Exact errors of all pairs of groups.

    Parameters
    ----------
    pit, weight : ndarray of shape (n,)
        PITs in ascending order, and weights.
    keys : ndarray of shape (m, n)
        F(y0) for each threshold, columns in the order of the PITs.
    cutoffs : ndarray of shape (L,) or (m, L)
        Levels, the same for all thresholds or not.

    Notes
    -----
    Time O(m n L), a nanosecond or so for each; threads take a threshold each.
    """
    from calibrant.kernels.group_errors import add_group_errors

    cutoffs = np.broadcast_to(cutoffs, (len(keys), cutoffs.shape[-1]))
    found = np.zeros((3, *cutoffs.shape))

    def run(j: int) -> None:
        add_group_errors(pit, weight, keys[j], np.ascontiguousarray(cutoffs[j]), *found[:, j])

    for _ in in_order(run, range(len(keys))):
        pass
    return GroupErrors(*found)
