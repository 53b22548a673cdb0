"""Algorithm 1: find the worst pair of groups, recalibrate both, and so on.

All is kept in the order of the PITs. A map ascends, so the two groups of a layer stay sorted each
for itself, and the new order is a merge of the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.forecasts.base import Floats
from calibrant.metrics.average import area_from_uniform
from calibrant.metrics.group_errors import group_errors
from calibrant.recalibration.maps import Codes, MonotoneMaps, isotonic_knots


class Grid(NamedTuple):
    """Where threshold calibration is asked for."""

    thresholds: Floats
    levels: Floats
    min_group_size: float


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """One layer of a threshold recalibration, as found on the fitting rows.

    Attributes
    ----------
    threshold, level : float
        The rows with F(threshold) <= level were mapped by one map and the others by another.
    tce : float
        Threshold calibration error there, before the layer: the largest of all.
    n_lower, n_upper : float
        Weights of the two groups (numbers of rows where no weights were given).
    """

    threshold: float
    level: float
    tce: float
    n_lower: float
    n_upper: float


class Layer(NamedTuple):
    """Rows with F(threshold) <= level before the layer take map 0, the others map 1."""

    threshold: int
    level: float
    maps: MonotoneMaps
    record: LayerRecord

    def codes(self, cdf: Floats) -> Codes:
        """The map of each row, given the current F(y0) (m, n) at all thresholds."""
        return np.asarray(cdf[self.threshold] > self.level, dtype=np.int32)


class Cell(NamedTuple):
    """A threshold (its number) and a level that divide the rows into two groups."""

    threshold: int
    level: float
    tce: float
    n_lower: float


class FittingRows:
    """The fitting rows as the layers so far have made them.

    Parameters
    ----------
    pits, weight : ndarray of shape (n,)
        In the order of the data.
    cdf : ndarray of shape (m, n)
        F(y0) at the m thresholds; taken over and changed.
    """

    def __init__(self, pits: Floats, weight: Floats, cdf: Floats, grid: Grid) -> None:
        order = np.argsort(pits, kind="stable")
        self.grid = grid
        self.pits, self.weight, self.cdf = pits[order], weight[order], cdf
        self._reorder(order)

    def worst_cell(self) -> Cell | None:
        """The largest threshold calibration error of groups that are large enough, if any are.

        Of equal errors the first threshold is taken, then the first level.
        """
        errors = group_errors(self.pits, self.weight, self.cdf, self.grid.levels)
        smaller = np.minimum(errors.below, self.weight.sum() - errors.below)
        admissible = (smaller >= self.grid.min_group_size) & (smaller > 0.0)
        if not admissible.any():
            return None
        tce = np.where(admissible, errors.lower + errors.upper, -1.0)
        place = np.unravel_index(int(tce.argmax()), tce.shape)
        level = float(self.grid.levels[place[1]])
        return Cell(int(place[0]), level, float(tce[place]), float(errors.below[place]))

    def whole(self) -> Cell:
        """All rows as one group: level 1 of any threshold."""
        error = area_from_uniform(self.pits, self.weight)
        return Cell(0, 1.0, error, float(self.weight.sum()))

    def add_layer(self, cell: Cell) -> Layer:
        """Recalibrate the two groups."""
        upper = self.cdf[cell.threshold] > cell.level
        parts = [np.flatnonzero(~upper), np.flatnonzero(upper)]
        maps = MonotoneMaps([isotonic_knots(self.pits[i], self.weight[i]) for i in parts])
        codes = upper.astype(np.int32)
        maps.update(self.cdf, codes)
        rows = np.concatenate(parts)
        new = maps(self.pits, codes)[rows]
        merged = np.argsort(new, kind="stable")
        order = rows[merged]
        self.pits, self.weight = new[merged], self.weight[order]
        self._reorder(order)
        record = LayerRecord(
            threshold=float(self.grid.thresholds[cell.threshold]),
            level=cell.level,
            tce=cell.tce,
            n_lower=cell.n_lower,
            n_upper=float(self.weight.sum()) - cell.n_lower,
        )
        return Layer(cell.threshold, cell.level, maps, record)

    def _reorder(self, order: NDArray[Any]) -> None:
        for row in self.cdf:
            row[:] = row[order]


def fit_layers(rows: FittingRows, max_iter: int, tol: float) -> Iterator[Layer]:
    """Layers until the worst error is at most `tol`, no groups are large enough, or `max_iter`."""
    for _ in range(max_iter):
        cell = rows.worst_cell()
        if cell is None or cell.tce <= tol:
            return
        yield rows.add_layer(cell)
