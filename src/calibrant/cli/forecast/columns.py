"""The columns of a file that hold forecasts, outcomes and weights -> what the library takes."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from calibrant.cli.errors import UserError, listed
from calibrant.cli.tables import Table
from calibrant.cli.values import numbers, refuse, refuse_where
from calibrant.forecasts import Ensemble, Forecast, Normal, Quantiles
from calibrant.forecasts.base import Floats

# Name and level; a name may hold commas and equals signs, a level neither.
_NAME_AND_LEVEL = re.compile(r"(.+?)=([^,=]+)(?:,|$)")


class Given(NamedTuple):
    """What the options say of the forecast's columns."""

    mean: str | None
    sd: str | None
    quantiles: Sequence[str]
    members_prefix: str | None
    sort_quantiles: bool


@dataclass(frozen=True)
class ForecastColumns(ABC):
    """Columns of a file that together hold one forecast a row."""

    table: Table
    names: tuple[str, ...]

    @property
    @abstractmethod
    def words(self) -> str:
        """What the columns are, for people."""

    @abstractmethod
    def read(self, frame: pl.DataFrame, *, first_row: int = 0) -> Forecast:
        """The forecasts of some rows, the first of which is row `first_row` of the file."""

    def _numbers(self, frame: pl.DataFrame, first_row: int) -> Floats:
        """The columns as float64, (n, K)."""
        read = [numbers(self.table, frame[name], first_row=first_row) for name in self.names]
        return np.column_stack(read).astype(np.float64, copy=False)


@dataclass(frozen=True)
class NormalColumns(ForecastColumns):
    """Means and standard deviations."""

    @property
    def words(self) -> str:
        return f"normal forecasts, mean {self.names[0]} and standard deviation {self.names[1]}"

    def read(self, frame: pl.DataFrame, *, first_row: int = 0) -> Normal:
        mu, sigma = self._numbers(frame, first_row).T
        refuse_where(
            sigma <= 0,
            self.table,
            frame[self.names[1]],
            "but a standard deviation is positive: correct it or delete the row",
            first_row=first_row,
        )
        return Normal(mu, sigma)


@dataclass(frozen=True)
class QuantileColumns(ForecastColumns):
    """Quantiles, the levels ascending."""

    levels: tuple[float, ...]
    sort: bool

    @property
    def words(self) -> str:
        pairs = zip(self.names, self.levels, strict=True)
        return "quantile forecasts, " + listed([f"{n} = {level:g}" for n, level in pairs], 5)

    def read(self, frame: pl.DataFrame, *, first_row: int = 0) -> Quantiles:
        values = self._numbers(frame, first_row)
        crossing = values[:, 1:] < values[:, :-1]
        if crossing.any() and not self.sort:
            row, k = map(int, np.unravel_index(int(crossing.argmax()), crossing.shape))
            low, high = self.names[k : k + 2]
            refuse(
                self.table,
                frame[high],
                row,
                f'below column "{low}" with {frame[low][row]}, but quantiles ascend with the '
                "level: correct them, or pass --sort-quantiles",
                first_row=first_row,
            )
        return Quantiles(self.levels, values, sort=self.sort)


@dataclass(frozen=True)
class MemberColumns(ForecastColumns):
    """The members of an ensemble."""

    @property
    def words(self) -> str:
        return f"ensembles of {len(self.names)} members, {listed([*self.names], 3)}"

    def read(self, frame: pl.DataFrame, *, first_row: int = 0) -> Ensemble:
        return Ensemble(self._numbers(frame, first_row))


@dataclass(frozen=True)
class Data:
    """Forecasts with outcomes and weights, where there are any."""

    columns: ForecastColumns
    forecast: Forecast
    target: str | None
    y: Floats | None
    weight: Floats | None

    @property
    def n(self) -> int:
        return len(self.forecast)

    def mapping(self) -> str:
        """Which column is what, in words."""
        outcome = "" if self.target is None else f"; outcome {self.target}"
        return self.columns.words + outcome


def forecast_columns(table: Table, given: Given) -> ForecastColumns:
    """The columns that the options name; exactly one kind of forecast must be named."""
    normal = given.mean is not None or given.sd is not None
    if normal + bool(given.quantiles) + (given.members_prefix is not None) != 1:
        raise UserError(
            "say which columns hold the forecast, in one way: --mean and --sd, or --quantiles "
            f"COLUMN=LEVEL, or --members-prefix. The columns of {table.name}: "
            f"{listed([*table.columns])}."
        )
    if given.sort_quantiles and not given.quantiles:
        raise UserError("--sort-quantiles is for forecasts by --quantiles: leave it out.")
    if given.quantiles:
        return _quantile_columns(table, given.quantiles, given.sort_quantiles)
    if given.members_prefix is not None:
        return MemberColumns(table, _member_names(table, given.members_prefix))
    if given.mean is None or given.sd is None:
        missing = "--sd" if given.sd is None else "--mean"
        raise UserError(f"a normal forecast needs --mean and --sd: {missing} is missing.")
    table.require([given.mean, given.sd])
    return NormalColumns(table, (given.mean, given.sd))


def read_data(columns: ForecastColumns, target: str | None, weight: str | None) -> Data:
    """Read and check the forecasts, outcomes and weights of a whole file."""
    table = columns.table
    frame = table.collect([*columns.names, *filter(None, [target, weight])])
    forecast = columns.read(frame)
    y = None if target is None else numbers(table, frame[target]).astype(np.float64)
    weights = None
    if weight is not None:
        weights = numbers(table, frame[weight]).astype(np.float64)
        refuse_where(weights < 0, table, frame[weight], "but a weight cannot be negative")
        if not weights.any():
            raise UserError(f'column "{weight}" of {table.name} is zero in every row.')
    return Data(columns, forecast, target, y, weights)


def _quantile_columns(table: Table, texts: Sequence[str], sort: bool) -> QuantileColumns:
    level_of: dict[str, float] = {}
    for text in texts:
        pairs = _NAME_AND_LEVEL.findall(text)
        if "".join(f"{name}={level}," for name, level in pairs).rstrip(",") != text.rstrip(","):
            raise UserError(f"--quantiles {text} is not COLUMN=LEVEL, as in q10=0.1.")
        for name, level in pairs:
            if name in level_of:
                raise UserError(f'--quantiles names column "{name}" twice: each has one level.')
            level_of[name] = _level(name, level)
    if len(level_of) < 2:
        raise UserError("a forecast by --quantiles needs at least two of them.")
    names = tuple(sorted(level_of, key=level_of.__getitem__))
    levels = tuple(level_of[name] for name in names)
    for k, level in enumerate(levels[1:], start=1):
        if level == levels[k - 1]:
            raise UserError(
                f'--quantiles gives the columns "{names[k - 1]}" and "{names[k]}" the same level '
                f"{level:g}: each level has one column."
            )
    table.require(names)
    return QuantileColumns(table, names, levels, sort)


def _level(name: str, text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = np.nan
    if not 0.0 < level < 1.0:
        raise UserError(
            f"--quantiles {name}={text}: a level is a number between 0 and 1, as 0.1 for the "
            "10 % quantile."
        )
    return level


def _member_names(table: Table, prefix: str) -> tuple[str, ...]:
    digits = [name.removeprefix(prefix) for name in table.columns if name.startswith(prefix)]
    numbered = sorted((rest for rest in digits if rest.isdecimal()), key=int)
    if not numbered:
        raise UserError(
            f'no column of {table.name} is named "{prefix}" and a number: --members-prefix m takes '
            f"m1, m2, ... Its columns: {listed([*table.columns])}."
        )
    return tuple(prefix + rest for rest in numbered)
