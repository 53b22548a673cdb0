"""Where is the model miscalibrated? The groups of a column, each tested, with a correction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_lengths
from calibrant.labels import labels_array

LEVEL = 0.05
MOST_GROUPS = 50
"""How many are shown."""


@dataclass(frozen=True)
class Group:
    """One group: its rows, what was predicted and what came, its error, and the test of it.

    `p_adjusted` is Holm's; None where a group has too few rows for a test.
    """

    label: Any
    n: int
    predicted: float
    observed: float
    error: float
    low: float
    high: float
    by_chance: float
    pvalue: float | None
    p_adjusted: float | None = None

    @property
    def rejected(self) -> bool:
        return self.p_adjusted is not None and self.p_adjusted <= LEVEL


def group_labels(by: Any, like: NDArray[Any]) -> NDArray[Any] | None:
    """The group of each row."""
    if by is None:
        return None
    groups = labels_array(by, "by")
    check_lengths(by=groups, y=like)
    return groups


def examine(
    groups: NDArray[Any], look: Callable[[Any, NDArray[np.intp], int], Group]
) -> tuple[Group, ...]:
    """All groups, the worst first; `look` gets label, rows, and how many groups there are."""
    labels, codes = np.unique(groups, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    found = [
        look(label.item(), rows, len(labels)) for label, rows in zip(labels, parts, strict=True)
    ]
    return tuple(sorted(with_holm(found), key=_badness))


def with_holm(groups: Sequence[Group]) -> list[Group]:
    """The groups with Holm's adjusted p-values, which hold for all of them together.

    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scand. J. Statist. 6.
    """
    tested = [k for k, group in enumerate(groups) if group.pvalue is not None]
    tested.sort(key=lambda k: groups[k].pvalue or 0.0)
    result, reached = list(groups), 0.0
    for rank, k in enumerate(tested):
        own = (len(tested) - rank) * (groups[k].pvalue or 0.0)
        reached = min(1.0, max(reached, own))
        result[k] = replace(groups[k], p_adjusted=reached)
    return result


def _badness(group: Group) -> tuple[float, float]:
    untested = 2.0
    p = untested if group.p_adjusted is None else group.p_adjusted
    return p, group.by_chance - group.error
