"""Distances between all pairs of ascending numbers, counted without visiting the pairs.

Rounded differences are monotone as exact ones are, so two pointers find the very numbers that a
table of all differences would hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiling import kernel


@kernel
def count_within(ordered: Any, position: Any, distance: Any) -> Any:
    """Pairs at most `distance` apart.

    Row i stands for position[i + 1] - position[i] copies of itself; None: for one.
    """
    pairs = 0
    first = 0
    for j in range(len(ordered)):
        while ordered[j] - ordered[first] > distance:
            first += 1
        if position is None:
            pairs += j - first
        else:
            copies = position[j + 1] - position[j]
            pairs += copies * (position[j] - position[first]) + copies * (copies - 1) // 2
    return pairs


@kernel
def next_distance(ordered: Any, distance: Any) -> Any:
    """The smallest distance of a pair above a given one."""
    nearest = np.inf
    first = 0
    for j in range(len(ordered)):
        while ordered[j] - ordered[first] > distance:
            first += 1
        if first > 0:
            nearest = min(nearest, ordered[j] - ordered[first - 1])
    return nearest
