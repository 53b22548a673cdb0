"""Sums of doubles that an engine hardly rounds, however many they are."""

from __future__ import annotations

import narwhals as nw

from calibrant.engines.source import Columns
from calibrant.metrics.exact import from_doubles, to_double

# Adding and subtracting it rounds a number to a multiple of 2**-20. Sums of such numbers are exact
# in doubles up to 2**33; what is left of them is so small that its sum loses nothing that matters.
_ROUNDER = 1.5 * 2.0**32

_REST = "{} rest"


def split(name: str, value: nw.Expr) -> dict[str, nw.Expr]:
    """The two parts of a number, to be summed apart."""
    coarse = (value + _ROUNDER) - _ROUNDER
    return {name: coarse, _REST.format(name): value - coarse}


def whole_sum(columns: Columns, name: str, place: int) -> int:
    """The sum as a whole number of the unit of `calibrant.metrics.exact`."""
    return from_doubles([columns[name][place], columns[_REST.format(name)][place]])


def summed(columns: Columns, name: str, place: int) -> float:
    """The sum as a double."""
    return to_double(whole_sum(columns, name, place))
