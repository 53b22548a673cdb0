"""Pairs of rows to fit on and rows held out, as scikit-learn's splitters and users give them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]


def read_splits(pairs: Iterable[Any], n: int) -> list[Split]:
    """Numbers of rows of each fold, ValueError if they are not that.

    No fold may hold out rows that it is fitted on.
    """
    splits = []
    for fold, pair in enumerate(pairs):
        try:
            train, test = pair
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"fold {fold} of cv is {pair!r:.80}: it must be a pair of arrays, the rows to "
                "fit on and the rows held out."
            ) from error
        split = _rows(train, fold, n), _rows(test, fold, n)
        shared = np.intersect1d(*split)
        if len(shared):
            raise ValueError(
                f"fold {fold} of cv trains on row {shared[0]}, which it also holds out: the two "
                "sets of rows must be disjoint."
            )
        splits.append(split)
    if not splits:
        raise ValueError("cv has no folds: at least one is needed.")
    return splits


def fold_of_each_row(splits: Sequence[Split], n: int, *, unless: str = "") -> Rows:
    """The fold that holds each row out, (n,); ValueError where not exactly one does.

    `unless` says what would make that needless.
    """
    fold_id = np.full(n, -1)
    times = np.zeros(n, dtype=np.intp)
    for fold, (_, test) in enumerate(splits):
        fold_id[test] = fold
        times += np.bincount(test, minlength=n)
    if (times != 1).any():
        row = int((times != 1).argmax())
        raise ValueError(
            f"row {row} is in {times[row]} test folds of cv: every row must be in exactly one"
            f"{unless}."
        )
    return fold_id


def _rows(rows: Any, fold: int, n: int) -> Rows:
    numbers = np.asarray(rows)
    if numbers.size == 0:
        raise ValueError(f"fold {fold} of cv has no rows to fit on, or holds none out.")
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"fold {fold} of cv is given by an array of dtype {numbers.dtype} and shape "
            f"{numbers.shape}: it must hold row numbers, (m,) integers."
        )
    outside = (numbers < 0) | (numbers >= n)
    if outside.any():
        raise ValueError(
            f"fold {fold} of cv names row {numbers[outside.argmax()]}, but the rows are 0 to "
            f"{n - 1}."
        )
    return numbers.astype(np.intp)
