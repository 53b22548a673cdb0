"""Where is the model miscalibrated? The groups of a column, each tested, with a correction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
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

    `label` is None for the rows without one, `low` and `high` are nan for a single row, `pvalue` is
    None where a group has too few rows for a test. `p_adjusted` is Holm's.
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

    @property
    def tested(self) -> bool:
        return self.pvalue is not None

    @property
    def suspect(self) -> bool:
        """Whether its own p-value is low, but not for all groups together."""
        return self.pvalue is not None and self.pvalue <= LEVEL and not self.rejected


def group_labels(by: Any, like: NDArray[Any]) -> NDArray[Any] | None:
    """The group of each row: an array of one type, or of objects where some are None, missing."""
    if by is None:
        return None
    values, missing = _with_missing(by)
    if missing is None:
        groups = labels_array(by, "by")
    elif missing.all():
        groups = np.full(len(missing), None)
    else:
        values[missing] = values[int(missing.argmin())]
        groups = labels_array(values, "by").astype(object)
        groups[missing] = None
    check_lengths(by=groups, y=like)
    return groups


def _with_missing(by: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The groups as objects, and which of them are missing; None if none of them is."""
    listed = by.to_pylist() if hasattr(by, "to_pylist") else by  # of pyarrow
    held = nw.from_native(listed, allow_series=True, pass_through=True)
    none = np.empty(0), None
    if isinstance(held, nw.Series):
        values, null = held.to_list(), held.is_null().to_numpy()
    elif isinstance(held, list | tuple):
        values, null = list(held), np.zeros(len(held), dtype=bool)
    elif type(held) is np.ndarray and held.ndim == 1 and held.dtype.kind in "fO":
        values, null = held.tolist(), np.zeros(len(held), dtype=bool)
    else:
        return none
    missing = null | [v is None or (isinstance(v, float) and v != v) for v in values]
    if not missing.any():
        return none
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects, missing


def examine(
    groups: NDArray[Any], look: Callable[[Any, NDArray[np.intp], int], Group]
) -> tuple[Group, ...]:
    """All groups, those with the strongest evidence first.

    `look` gets label, rows, and how many groups there are.
    """
    parts = _parts(groups)
    found = [look(label, rows, len(parts)) for label, rows in parts]
    return tuple(sorted(with_holm(found), key=_by_evidence))


def _parts(groups: NDArray[Any]) -> list[tuple[Any, NDArray[np.intp]]]:
    """Each label with its rows, those without one last."""
    there = np.arange(len(groups))
    if groups.dtype.kind == "O":
        there = np.flatnonzero([group is not None for group in groups])
    labels, codes = np.unique(np.array(groups[there].tolist()), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    rows = np.split(there[order], cuts) if len(there) else []
    parts = list(zip(labels.tolist(), rows, strict=True))
    missing = np.setdiff1d(np.arange(len(groups)), there)
    return parts + ([(None, missing)] if len(missing) else [])


def intervals(groups: Sequence[Group]) -> list[tuple[float, float, float]]:
    """Estimate and ends."""
    return [(group.error, group.low, group.high) for group in groups]


def starts_or_ends(estimate: float, low: float, high: float) -> bool:
    """Whether an interval starts or ends at its estimate, as one does that was widened."""
    return low < high and estimate in (low, high)


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


def _by_evidence(group: Group) -> tuple[float, float]:
    untested = 2.0
    p = untested if group.p_adjusted is None else group.p_adjusted
    return p, group.by_chance - group.error
