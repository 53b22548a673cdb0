"""Which rows belong to which group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.labels import labels_array

Group = str | int | bool

_KINDS = "biuU"


def is_group(value: Any) -> bool:
    """Whether it can be the name of a group: text, a whole number or a truth value."""
    return isinstance(value, str | int | np.integer | np.bool_)


def rows_of_groups(by: Any, n: int) -> dict[Group | None, Any]:
    """For each group in `by`, a label for all rows or one for each, an index of its rows."""
    if is_group(by):
        return {by.item() if isinstance(by, np.generic) else by: slice(None)}
    labels: NDArray[Any] = labels_array(by, "by")
    if labels.dtype.kind not in _KINDS:
        raise ValueError(
            f"by has dtype {labels.dtype}: groups are text, whole numbers or booleans."
        )
    if len(labels) != n:
        raise ValueError(f"by has {len(labels)} entries for {n} rows: it needs one for each.")
    names, codes = np.unique(labels, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    cuts = np.searchsorted(codes[order], np.arange(1, len(names)))
    return dict(zip(names.tolist(), np.split(order, cuts), strict=True))
