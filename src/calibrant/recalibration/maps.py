"""Piecewise-linear maps of [0, 1] onto itself that recalibrate CDFs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.entries import Entry, plain
from calibrant.parallel import Workers
from calibrant.saving import saveable

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

_MAX_CELLS = 2**21
_CELLS_PER_KNOT = 8
_STEEPEST = 1e300  # an infinite slope times a distance of zero would be nan


class Knots(NamedTuple):
    """Where one map goes: x and y both ascend strictly from 0 to 1."""

    x: Floats
    y: Floats


IDENTITY = Knots(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def isotonic_knots(pit: Floats, weight: Floats) -> Knots:
    """The map that makes PITs uniform: the k-th of m goes to k / (m + 1).

    This is the isotonic regression of those targets on the PITs (Kuleshov et al. 2018): targets of
    equal PITs are averaged, and nothing else is ever pooled, since both ascend. The map is linear
    between the points and keeps 0 and 1, so that a CDF stays one. A weight of w means w such rows.

    Parameters
    ----------
    pit, weight : ndarray of shape (m,)
        PITs in ascending order, and their weights.
    """
    if len(pit) == 0:
        return IDENTITY
    first = np.flatnonzero(np.concatenate([[True], pit[1:] > pit[:-1]]))
    share = np.add.reduceat(weight, first)
    reached = np.concatenate([[0.0], np.cumsum(share)])
    target = (reached[:-1] + (share + 1.0) / 2.0) / (reached[-1] + 1.0)
    x = pit[first]
    inside = (x > 0.0) & (x < 1.0)
    return Knots(
        np.concatenate([[0.0], x[inside], [1.0]]), np.concatenate([[0.0], target[inside], [1.0]])
    )


def maps_of(n_groups: int | None = None) -> Entry:
    """Fitted attributes that are maps of so many groups."""
    words = "maps" if n_groups is None else f"maps of {n_groups} groups"

    def fits(value: Any) -> bool:
        return isinstance(value, MonotoneMaps) and n_groups in (None, len(value))

    return plain(words, fits)


@saveable
class MonotoneMaps:
    """Maps of [0, 1] for groups of rows, strictly ascending, continuous, linear between knots."""

    def __init__(self, knots: Sequence[Knots]) -> None:
        if not knots:
            raise ValueError("there must be at least one map.")
        for number, (x, y) in enumerate(knots):
            for name, values in (("x", x), ("y", y)):
                if (
                    len(values) < 2
                    or values[0] != 0.0
                    or values[-1] != 1.0
                    or not (np.diff(values) > 0.0).all()
                ):
                    raise ValueError(f"knots of map {number}: {name} must ascend from 0 to 1.")
            if len(x) != len(y):
                raise ValueError(f"map {number} has {len(x)} knots in x, but {len(y)} in y.")
        self.knots = tuple(knots)

    def __len__(self) -> int:
        return len(self.knots)

    def __call__(self, u: Floats, codes: Codes) -> Floats:
        """Row r's map, number ``codes[r]``, at each of ``u[..., r]``; shape (n,) or (m, n)."""
        from calibrant.kernels import monotone_maps

        u = np.ascontiguousarray(u)
        return self._look_up(monotone_maps.apply, u, codes, np.empty(u.shape))

    def slopes(self, u: Floats, codes: Codes) -> Floats:
        """Slopes to the right of the points, shaped like `u`."""
        from calibrant.kernels import monotone_maps

        u = np.ascontiguousarray(u)
        return self._look_up(monotone_maps.slopes, u, codes, np.empty(u.shape))

    def update(self, u: Floats, codes: Codes) -> None:
        """Replace `u` (m, n), contiguous, by the values of the maps there, in this thread."""
        from calibrant.kernels import monotone_maps

        monotone_maps.apply(u, codes, u, *self._tables)

    @cached_property
    def inverse(self) -> MonotoneMaps:
        return MonotoneMaps([Knots(y, x) for x, y in self.knots])

    def to_dict(self) -> dict[str, Any]:
        """JSON-able values that `from_dict` reads."""
        return {"knots": [[knots.x.tolist(), knots.y.tolist()] for knots in self.knots]}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The maps that `to_dict` described."""
        knots = [
            Knots(*(np.array(axis, dtype=float) for axis in pair)) for pair in content["knots"]
        ]
        return cls(knots)

    @cached_property
    def _tables(self) -> tuple[NDArray[Any], ...]:
        """The knots numbered through, and the cells in which they are looked up."""
        from calibrant.kernels.monotone_maps import fill_cells

        parts: list[tuple[NDArray[Any], ...]] = []
        n_knots, n_cells = 0, 0
        for x, y in self.knots:
            n = min(_MAX_CELLS, 1 << int(np.ceil(np.log2(_CELLS_PER_KNOT * len(x)))))
            cells = np.empty(n + 2, dtype=np.uint32)
            fill_cells(x, n_knots, cells)
            slope = np.append(np.minimum(np.diff(y) / np.diff(x), _STEEPEST), 0.0)
            parts.append((x, y, slope, cells, np.array([n_cells], np.uint64), np.array([float(n)])))
            n_knots += len(x)
            n_cells += len(cells)
        return tuple(map(np.concatenate, zip(*parts, strict=True)))

    def _look_up(self, kernel: Any, u: Floats, codes: Codes, out: Floats) -> Floats:
        n = u.shape[-1]
        points, results = u.reshape(-1, n), out.reshape(-1, n)

        def run(part: slice) -> None:
            kernel(points[part], codes, results[part], *self._tables)

        with Workers() as workers:
            workers.each(run, len(points), n)
        return out
