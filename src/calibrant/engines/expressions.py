"""Formulas as small trees, which are evaluated on data frames or printed as SQL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST_EXPONENT = 700.0
"""Exponents are cut here: databases refuse what overflows, and exp(-700) is 1e-304."""


class Node:
    """A number for each row, computed from the columns of a frame."""

    __slots__ = ()

    def __add__(self, other: Node | float) -> Node:
        return Binary("+", self, node(other))

    def __radd__(self, other: float) -> Node:
        return Binary("+", node(other), self)

    def __sub__(self, other: Node | float) -> Node:
        return Binary("-", self, node(other))

    def __rsub__(self, other: float) -> Node:
        return Binary("-", node(other), self)

    def __mul__(self, other: Node | float) -> Node:
        return Binary("*", self, node(other))

    def __truediv__(self, other: Node | float) -> Node:
        return Binary("/", self, node(other))

    def __rtruediv__(self, other: float) -> Node:
        return Binary("/", node(other), self)


@dataclass(frozen=True, slots=True, eq=False)
class Number(Node):
    """The same number in all rows."""

    value: float


@dataclass(frozen=True, slots=True, eq=False)
class Column(Node):
    """A column of the frame, as doubles."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """Two numbers joined by a sign."""

    sign: Literal["+", "-", "*", "/"]
    left: Node
    right: Node


@dataclass(frozen=True, slots=True, eq=False)
class Total(Node):
    """The sum of several numbers, added in order."""

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Function(Node):
    """The natural logarithm, the exponential or the size of a number."""

    name: Literal["ln", "exp", "abs"]
    argument: Node


@dataclass(frozen=True, slots=True, eq=False)
class Clip(Node):
    """A number, brought between two bounds."""

    argument: Node
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Within(Node):
    """`inside` where every number of `tested` is from its low to its high, else `outside`.

    Outside is NULL unless it is given. A missing number and NaN are never within.
    """

    tested: tuple[tuple[Node, float, float], ...]
    inside: Node
    outside: Node | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Steps(Node):
    """A piecewise linear map: piece i holds cuts[i - 1] <= argument < cuts[i].

    There it is ``values[i] + (argument - starts[i]) / widths[i] * rises[i]``, at most `tops`.
    """

    argument: Node
    cuts: Floats
    starts: Floats
    values: Floats
    widths: Floats
    rises: Floats
    tops: Floats

    @classmethod
    def constant(cls, argument: Node, cuts: Floats, values: Floats) -> Steps:
        """A map that is flat between the cuts."""
        zeros = np.zeros(len(values))
        return cls(argument, cuts, zeros, values, zeros + 1.0, zeros, values)

    def piece(self, i: int) -> Node:
        """The formula of one piece."""
        value = float(self.values[i])
        if self.rises[i] == 0.0:
            return Number(value)
        share = (self.argument - float(self.starts[i])) / float(self.widths[i])
        line = value + share * float(self.rises[i])
        return Clip(line, -np.inf, float(self.tops[i]))

    def look_up(self, points: Floats) -> Floats:
        """The map at points, by binary search."""
        i = np.searchsorted(self.cuts, points, side="right")
        step = (points - self.starts[i]) / self.widths[i] * self.rises[i]
        return np.minimum(self.values[i] + step, self.tops[i])


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Numbers that several others are computed from; frames hold them in columns for the time."""

    members: tuple[Node, ...]

    def __getitem__(self, k: int) -> Node:
        return Member(self, k)

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True, eq=False)
class Member(Node):
    """One of the shared numbers."""

    shared: Shared
    k: int


@dataclass(frozen=True, slots=True, eq=False)
class Softmax(Node):
    """Class k's share of the exponentials of ``factor * logits``."""

    logits: Shared
    factor: float
    k: int


def node(value: Node | float) -> Node:
    """Numbers as nodes."""
    return value if isinstance(value, Node) else Number(float(value))


def ln(argument: Node) -> Node:
    """Natural logarithm."""
    return Function("ln", argument)


def expit(odds: Node) -> Node:
    """1 / (1 + exp(-odds)); at least 1e-304."""
    return 1.0 / (1.0 + Function("exp", 0.0 - Clip(odds, -LARGEST_EXPONENT, LARGEST_EXPONENT)))


def total(terms: Iterable[Node]) -> Node:
    """The sum of the terms."""
    return Total(tuple(terms))


def softmax(logits: Iterable[Node], factor: float = 1.0) -> list[Node]:
    """A probability for each logit."""
    shared = Shared(tuple(logits))
    return [Softmax(shared, factor, k) for k in range(len(shared))]
