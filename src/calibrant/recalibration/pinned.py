"""Forecasts whose CDF is given at some points, and has the shape of another forecast between."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.forecasts.base import Floats, Forecast, check_probabilities
from calibrant.forecasts.concatenation import concatenate
from calibrant.metrics.grids import cdf_at
from calibrant.recalibration.derived import Derived

Cells = NDArray[np.intp]


class _Ends(NamedTuple):
    """The original and the new CDF at one end of the cells that points lie in."""

    old: Floats
    new: Floats


class Pinned(Derived):
    r"""A forecast whose CDF goes through given values v at the thresholds t.

    .. math:: F_{new}(y) = v_j + (v_{j+1} - v_j) \frac{F(y) - F(t_j)}{F(t_{j+1}) - F(t_j)},
              \qquad t_j \le y < t_{j+1}

    Below the first threshold and above the last it goes to 0 and to 1. Where the original has no
    probability between two thresholds, what the new forecast has there lies on the upper one; so do
    two thresholds without a double between them say how far the new CDF jumps. Made by the
    `transform` of `ThresholdwiseRecalibration`.

    `mean`, `std` and `crps` are integrated numerically, in panels that end at the thresholds and at
    quantiles of the original.

    Attributes
    ----------
    base : Forecast
        The original forecast, n rows.
    values : ndarray of shape (n, m)
        The new CDF at the thresholds, ascending in each row.
    thresholds : ndarray of shape (m,)
        Ascending.
    """

    _row_fields = ("base", "values")
    _shared_fields = ("thresholds",)

    def __init__(self, base: Forecast, values: Floats, thresholds: Floats) -> None:
        self.base, self.values, self.thresholds = base, values, thresholds

    def cdf(self, y: Any) -> Floats:
        points = self._points(y)
        return self._bent(self.base.cdf(points), self._cells(points, "right"))

    def cdf_left(self, y: Any) -> Floats:
        points = self._points(y)
        return self._bent(self.base.cdf_left(points), self._cells(points, "left"))

    def ppf(self, p: Any) -> Floats:
        levels = self._levels(p)
        levels = np.broadcast_to(levels, np.broadcast_shapes(levels.shape, (len(self),)))
        cells = np.empty(levels.shape, dtype=np.intp)
        for place in np.ndindex(levels.shape[:-1]):
            cells[place] = (levels[place] > self.values.T).sum(axis=0)
        before, after = self._ends(cells)
        u = _between(_shares(levels, before.new, after.new), before.old, after.old)
        borders = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        # A jump of the new CDF where the original is flat lies on the upper threshold.
        flat = (before.old == after.old) & (cells < len(self.thresholds))
        y = np.where(flat, borders[cells + 1], self._base_quantiles(u, levels))
        return np.clip(y, borders[cells], borders[cells + 1])

    def logpdf(self, y: Any) -> Floats:
        points = self._points(y)
        before, after = self._ends(self._cells(points, "right"))
        rise, old = after.new - before.new, after.old - before.old
        slope = np.divide(rise, old, out=np.ones_like(rise), where=old > 0.0)
        with np.errstate(divide="ignore"):
            return self.base.logpdf(points) + np.log(slope)

    @classmethod
    def _concatenated(cls, parts: Sequence[Self]) -> Self:
        if any(not np.array_equal(part.thresholds, parts[0].thresholds) for part in parts):
            raise ValueError(
                "forecasts that were recalibrated differently cannot be concatenated: concatenate "
                "the originals and transform them."
            )
        values = np.concatenate([part.values for part in parts])
        return cls(concatenate([part.base for part in parts]), values, parts[0].thresholds)

    def _cells(self, points: Floats, side: Literal["left", "right"]) -> Cells:
        """How many thresholds lie below each point, or at most there."""
        cells = np.searchsorted(self.thresholds, points, side)
        return np.broadcast_to(cells, np.broadcast_shapes(cells.shape, (len(self),)))

    def _bent(self, u: Floats, cells: Cells) -> Floats:
        before, after = self._ends(cells)
        share = _shares(check_probabilities(u), before.old, after.old)
        return _between(share, before.new, after.new)

    def _ends(self, cells: Cells) -> tuple[_Ends, _Ends]:
        rows = np.arange(len(self))
        old, new = self._bordered
        return (
            _Ends(old[cells, rows], new[cells, rows]),
            _Ends(old[cells + 1, rows], new[cells + 1, rows]),
        )

    @cached_property
    def _bordered(self) -> tuple[Floats, Floats]:
        """The original and the new CDF at -inf, the thresholds and inf, (m + 2, n)."""
        ends = np.zeros((1, len(self))), np.ones((1, len(self)))
        inner = cdf_at(self.base, self.thresholds)
        jumps = np.flatnonzero(np.nextafter(self.thresholds[:-1], np.inf) == self.thresholds[1:])
        for lower in jumps:
            inner[lower] = check_probabilities(self.base.cdf_left(self.thresholds[lower + 1]))
        old, new = (np.concatenate([ends[0], at, ends[1]]) for at in (inner, self.values.T))
        return old, new

    def _panel_edges(self) -> Floats:
        edges = self.base._panel_edges()
        inner = np.broadcast_to(self.thresholds[:, None], (len(self.thresholds), len(self)))
        # Beyond the original's own edges there is nothing to integrate.
        return np.sort(np.concatenate([edges, np.clip(inner, edges[0], edges[-1])]), axis=0)


def _shares(values: Floats, low: Floats, high: Floats) -> Floats:
    """How far the values are from the low to the high end, 0 where these are equal."""
    width = high - low
    share = np.divide(values - low, width, out=np.zeros(values.shape), where=width > 0.0)
    return np.clip(share, 0.0, 1.0)


def _between(share: Floats, low: Floats, high: Floats) -> Floats:
    """Between two values, exact at both ends."""
    return np.where(share < 0.5, low + share * (high - low), high - (1.0 - share) * (high - low))
