"""Means over seeds with 95 % intervals, and differences seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from .measures import OVERALL
from .methods import METHODS
from .sets import FAMILIES, SETS

Floats = NDArray[np.float64]

_CONFIDENCE = 0.95


class Mean(NamedTuple):
    """A mean over seeds, and half the width of its interval by Student's t."""

    value: float
    half: float

    def __format__(self, spec: str) -> str:
        half = "" if np.isnan(self.half) else f" ± {self.half:{spec}}"
        return f"{self.value:{spec}}{half}"

    @property
    def sign(self) -> int:
        """-1 or 1 where the interval is below or above zero, 0 where it holds it."""
        # Without an interval (one seed) both comparisons are false.
        return int(self.value - self.half > 0.0) - int(self.value + self.half < 0.0)


def mean_of(values: Sequence[float] | Floats) -> Mean:
    """The mean; one value has no interval."""
    n = len(values)
    if n < 2:
        return Mean(float(np.mean(values)), float("nan"))
    quantile = stats.t.ppf((1.0 + _CONFIDENCE) / 2.0, n - 1)
    return Mean(float(np.mean(values)), float(quantile * np.std(values, ddof=1) / np.sqrt(n)))


class Summary:
    """Overall values of one measure, by data set, family and method."""

    def __init__(self, results: pl.DataFrame, measure: str) -> None:
        rows = results.filter((pl.col("axis") == OVERALL) & (pl.col("measure") == measure))
        self._seeds: dict[tuple[str, str, str], dict[int, float]] = {}
        wanted = rows.select("data", "family", "method", "seed", "value")
        for name, family, method, seed, value in wanted.iter_rows():
            self._seeds.setdefault((name, family, method), {})[seed] = value

    def methods(self) -> list[str]:
        """In the order of METHODS, then those that are not among them."""
        found = {method for _, _, method in self._seeds}
        known = [method for method in METHODS if method in found]
        return known + sorted(found.difference(known))

    def cases(self) -> list[tuple[str, str]]:
        """The data sets and families that were measured."""
        found = {(name, family) for name, family, _ in self._seeds}
        return [(name, family) for name in SETS for family in FAMILIES if (name, family) in found]

    def mean(self, name: str, family: str, method: str) -> Mean | None:
        """Of one method over its seeds; None where it was not measured."""
        seeds = self._seeds.get((name, family, method))
        return None if seeds is None else mean_of(list(seeds.values()))

    def difference(self, name: str, family: str, method: str, other: str) -> Mean | None:
        """Method minus other, seed by seed."""
        mine = self._seeds.get((name, family, method), {})
        others = self._seeds.get((name, family, other), {})
        shared = sorted(mine.keys() & others.keys())
        return mean_of([mine[seed] - others[seed] for seed in shared]) if shared else None


def along(results: pl.DataFrame, axis: str, measure: str) -> pl.DataFrame:
    """Means over seeds at each place of an axis.

    The columns are data, family, method, index, at, value and half; thresholds that span the test
    outcomes differ a little from seed to seed, and `at` is their mean.
    """
    rows = results.filter((pl.col("axis") == axis) & (pl.col("measure") == measure))
    keys = ["data", "family", "method", "index"]
    means = []
    for key, group in rows.group_by(keys, maintain_order=True):
        mean = mean_of(group["value"].to_numpy())
        means.append((*key, float(group["at"].mean()), *mean))  # type: ignore[arg-type]
    schema = [*keys, "at", "value", "half"]
    return pl.DataFrame(means, schema=schema, orient="row").sort(keys)
