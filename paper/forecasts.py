"""Stored forecasts: one Parquet file for each data set, family and seed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from calibrant.forecasts import Forecast, Mixture, Normal

from .sets import SETS

Floats = NDArray[np.float64]

_FAMILIES: dict[str, tuple[Callable[..., Forecast], tuple[str, ...]]] = {
    "gaussian": (Normal, ("mu", "sigma")),
    "mixture": (Mixture.gaussian_laplace, ("mu", "sigma", "loc", "scale", "weight")),
}
_NAME = re.compile(r"(?P<name>\w+)_(?P<family>gaussian|mixture)_seed(?P<seed>\d+)\.parquet")


class Sample(NamedTuple):
    """Forecasts and their outcomes."""

    forecast: Forecast
    y: Floats


class Stored(NamedTuple):
    """A file of forecasts."""

    path: Path
    name: str
    family: str
    seed: int

    def samples(self) -> tuple[Sample, Sample]:
        """The rows to recalibrate on, and the test rows."""
        frame = pl.read_parquet(self.path)
        make, columns = _FAMILIES[self.family]

        def rows(*splits: str) -> Sample:
            part = frame.filter(pl.col("split").cast(pl.String).is_in(splits))
            # The stored numbers are the forecasts: everything is computed from them in float64.
            *parameters, y = (part[c].to_numpy().astype(np.float64) for c in (*columns, "y"))
            return Sample(make(*parameters), y)

        fitting = ("train", "val") if SETS[self.name].small else ("val",)
        return rows(*fitting), rows("test")


def file_name(name: str, family: str, seed: int) -> str:
    """Of the forecasts of one forecaster."""
    return f"{name}_{family}_seed{seed}.parquet"


def stored(
    folder: Path, names: Collection[str] = tuple(SETS), seeds: Collection[int] | None = None
) -> list[Stored]:
    """The files in a folder, in the order of the sets, families and seeds."""
    found = []
    for path in folder.glob("*.parquet"):
        match = _NAME.fullmatch(path.name)
        if match is None or match["name"] not in names:
            continue
        if seeds is None or int(match["seed"]) in seeds:
            found.append(Stored(path, match["name"], match["family"], int(match["seed"])))
    if not found:
        raise FileNotFoundError(
            f"there are no forecasts of {', '.join(names)} in {folder}: make them by "
            "python -m paper.train, or name the folder that holds them by --forecasts."
        )
    order = list(SETS)
    return sorted(found, key=lambda file: (order.index(file.name), file.family, file.seed))


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write a file that is complete or not there at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        frame.write_parquet(unfinished, compression="zstd")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
