"""Piecewise-linear maps of [0, 1] onto itself that recalibrate CDFs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.parallel import in_order
from calibrant.saving import saveable

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

_MAX_CELLS = 2**16
_VALUES_PER_THREAD = 50_000


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


@saveable
class MonotoneMaps:
    """Maps of [0, 1] for groups of rows, strictly ascending, continuous, linear between knots."""

    def __init__(self, knots: Sequence[Knots]) -> None:
        for number, (x, y) in enumerate(knots):
            for name, values in (("x", x), ("y", y)):
                if values[0] != 0.0 or values[-1] != 1.0 or not (np.diff(values) > 0.0).all():
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
        """Replace `u` (m, n), contiguous, by the value of the maps there."""
        from calibrant.kernels import monotone_maps

        self._look_up(monotone_maps.apply, u, codes, u)

    @cached_property
    def inverse(self) -> MonotoneMaps:
        return MonotoneMaps([Knots(y, x) for x, y in self.knots])

    def to_dict(self) -> dict[str, Any]:
        """JSON-able values that `from_dict` reads."""
        return {"knots": [[knots.x.tolist(), knots.y.tolist()] for knots in self.knots]}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The maps that `to_dict` described."""
        return cls([Knots(np.array(x, float), np.array(y, float)) for x, y in content["knots"]])

    @cached_property
    def _tables(self) -> tuple[NDArray[Any], ...]:
        """The knots numbered through, and the cells in which they are looked up."""
        n_cells = [
            min(_MAX_CELLS, 1 << int(np.ceil(np.log2(2 * len(knots.x))))) for knots in self.knots
        ]
        cells = []
        offset = 0
        for knots, n in zip(self.knots, n_cells, strict=True):
            before = np.searchsorted(knots.x, np.arange(n + 2) / n, side="right") - 1
            cells.append(offset + np.clip(before, 0, len(knots.x) - 2))
            offset += len(knots.x)
        cell_first = np.concatenate([[0], np.cumsum(np.array(n_cells) + 2)[:-1]])
        return (
            np.concatenate([knots.x for knots in self.knots]),
            np.concatenate([knots.y for knots in self.knots]),
            np.concatenate(cells).astype(np.uint32),
            cell_first.astype(np.uint64),
            np.array(n_cells, dtype=np.float64),
        )

    def _look_up(self, kernel: Any, u: Floats, codes: Codes, out: Floats) -> Floats:
        n = u.shape[-1]
        points, results = u.reshape(-1, n), out.reshape(-1, n)
        rows_each = max(1, _VALUES_PER_THREAD // n)
        starts = range(0, len(points), rows_each)

        def run(start: int) -> None:
            part = slice(start, start + rows_each)
            kernel(points[part], codes, *self._tables, results[part])

        for _ in in_order(run, starts):
            pass
        return out
