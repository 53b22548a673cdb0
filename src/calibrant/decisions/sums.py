"""Sums over the rows where a rule takes action 1, for many levels from one pass over the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.decisions.losses import Floats


def buckets(cdf: Floats, levels: Floats, direction: str = "ge") -> NDArray[np.intp]:
    """Where each row lies between ascending levels.

    cdf >= levels[j] ("ge") is the same as bucket > j, cdf <= levels[j] ("le") as bucket <= j.
    """
    return np.searchsorted(levels, cdf, side="right" if direction == "ge" else "left")


def over_acting(
    bucket: NDArray[np.intp], n_levels: int, values: Floats, direction: str = "ge"
) -> Floats:
    """The sum of the values over the rows where the rule acts, for each level."""
    sums = np.bincount(bucket, weights=values, minlength=n_levels + 1)
    if direction == "ge":
        return np.asarray(sums[::-1].cumsum()[::-1][1:])
    return np.asarray(sums.cumsum()[:-1])
