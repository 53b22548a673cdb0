"""From a data set's file to standardised arrays of the training, validation and test rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .sets import DataSet

Floats = NDArray[np.float32]
Rows = NDArray[np.intp]

TEST_SHARE = 0.3
VALIDATION_SHARE = 0.1  # of the other rows
SPLITS = ("train", "val", "test")

_FARTHEST = 10.0  # standard deviations
_CONSTANT = 1e-10


class Part(NamedTuple):
    """Rows of one split."""

    x: Floats
    y: Floats


def read(folder: Path, name: str, data_set: DataSet) -> pl.DataFrame:
    """The file as it is, or an error that says how to get it."""
    path = folder / data_set.path
    if not path.is_file():
        raise FileNotFoundError(
            f"{name} is not in {path}. It comes from {data_set.origin}. Write it there with "
            "write_parquet, or name the folder that holds it by --data."
        )
    frame = pl.read_parquet(path)
    wanted = [c for c in (*data_set.features, data_set.target, data_set.group) if c and c != "*"]
    missing = [column for column in wanted if column not in frame.columns]
    if missing:
        raise ValueError(
            f"{path} has no column {missing[0]!r}. It should be {name}, from {data_set.origin}."
        )
    return frame


def parts(frame: pl.DataFrame, data_set: DataSet, seed: int) -> dict[str, Part]:
    """Training, validation and test rows, standardised by the training rows."""
    y = frame[data_set.target].to_numpy().astype(np.float32).astype(np.float64)
    if data_set.group is None:
        rows = random_rows(len(y), seed)
    else:
        rows = grouped_rows(frame[data_set.group].to_numpy(), seed)
    train = rows["train"]
    x = standardised(features(frame, data_set, train), train).clip(-_FARTHEST, _FARTHEST)
    y = standardised(y, train)
    return {
        split: Part(x[rows[split]].astype(np.float32), y[rows[split]].astype(np.float32))
        for split in SPLITS
    }


def random_rows(n: int, seed: int) -> dict[str, Rows]:
    """A random division, by the rule of the paper's authors."""
    others, test = _divided(np.random.RandomState(seed).permutation(n), TEST_SHARE)
    again = others[np.random.RandomState(seed).permutation(len(others))]
    train, validation = _divided(again, VALIDATION_SHARE)
    return {"train": train, "val": validation, "test": test}


def grouped_rows(group: NDArray[Any], seed: int) -> dict[str, Rows]:
    """A division that keeps groups whole, taken from the end of their permutation."""
    names, sizes = np.unique(group, return_counts=True)
    order = list(np.random.RandomState(seed).permutation(len(names)))

    def taken(n_rows: float) -> Rows:
        chosen: list[int] = []
        while sizes[chosen].sum() < n_rows:
            chosen.append(order.pop())
        return np.flatnonzero(np.isin(group, names[chosen]))

    test = taken(TEST_SHARE * len(group))
    validation = taken(VALIDATION_SHARE * (len(group) - len(test)))
    train = np.flatnonzero(np.isin(group, names[order]))
    return {"train": train, "val": validation, "test": test}


def features(frame: pl.DataFrame, data_set: DataSet, train: Rows) -> NDArray[np.float64]:
    """Numbers as they are, categories as indicators, missing values as the training median."""
    names = data_set.features
    if names == ("*",):
        names = tuple(c for c in frame.columns if c not in (data_set.target, *data_set.left_out))
    columns = []
    for name in names:
        values = frame[name]
        missing = values.is_null().to_numpy()
        if missing.any() and data_set.complete_only:
            continue
        if values.dtype == pl.String:
            columns += [(values == level).fill_null(False).to_numpy() for level in _levels(values)]
        else:
            numbers = values.cast(pl.Float32).to_numpy().astype(np.float64)
            columns.append(np.where(missing, np.nanmedian(numbers[train]), numbers))
        if missing.any():
            columns.append(missing)
    return np.column_stack(columns).astype(np.float64)


def standardised(values: NDArray[np.float64], train: Rows) -> NDArray[np.float64]:
    """Minus the mean and divided by the population standard deviation of the training rows."""
    scale = np.asarray(values[train].std(axis=0))
    centered = values - values[train].mean(axis=0)
    return np.asarray(centered / np.where(scale < _CONSTANT, 1.0, scale))


def _divided(rows: Rows, share: float) -> tuple[Rows, Rows]:
    n_first = round((1.0 - share) * len(rows))
    return rows[:n_first], rows[n_first:]


def _levels(values: pl.Series) -> list[str]:
    return sorted(values.drop_nulls().unique())
