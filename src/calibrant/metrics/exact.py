"""Sums of doubles as whole numbers of the smallest double, 2**-1074, so that adding is exact."""

from __future__ import annotations

from collections.abc import Iterable
from operator import add
from typing import NamedTuple

_UNIT_BITS = 1074
_ONE = 1 << _UNIT_BITS

LIMIT = _ONE << 1024
"""What no double reaches: two to the power of 1024."""


class ExactSums(NamedTuple):
    """Per bin: the sum of the weights w, of w * p and of w * y."""

    weight: tuple[int, ...]
    prob: tuple[int, ...]
    true: tuple[int, ...]

    def plus(self, other: ExactSums) -> ExactSums:
        """The sums over both data sets."""
        return ExactSums(*(tuple(map(add, a, b)) for a, b in zip(self, other, strict=True)))


def from_count(count: int) -> int:
    """A count as a whole number of the unit."""
    return count << _UNIT_BITS


def to_double(sum_: int) -> float:
    """The nearest double."""
    return sum_ / _ONE


def to_doubles(sum_: int) -> list[float]:
    """The few doubles, the largest first, whose exact sum is the given one."""
    parts = [to_double(sum_)]
    while rest := sum_ - from_doubles(parts):
        parts.append(to_double(rest))
    return parts


def from_doubles(parts: Iterable[float]) -> int:
    """The exact sum of some doubles."""
    return sum(
        numerator * (_ONE // denominator)
        for numerator, denominator in (float(part).as_integer_ratio() for part in parts)
    )
