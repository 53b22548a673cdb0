"""Algorithm 1: find the worst pair of groups, recalibrate both, and so on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np

from calibrant.encoding import decode_members
from calibrant.entries import NUMBER, SHARE, check
from calibrant.forecasts.base import Floats
from calibrant.metrics.average import area_from_uniform
from calibrant.parallel import Workers
from calibrant.recalibration.maps import Codes, MonotoneMaps, isotonic_knots
from calibrant.recalibration.search import Cell, Grid, fill_bounds, no_bounds, worst_cell
from calibrant.saving import saveable


@saveable
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

    def to_dict(self) -> dict[str, float]:
        """The fields by name."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The layer that `to_dict` described."""
        names = [field.name for field in fields(cls)]
        values = decode_members(content, names, "layer")
        for name, value in values.items():
            check(SHARE if name == "level" else NUMBER, name, value)
        return cls(**values)


class Layer(NamedTuple):
    """Rows with F(threshold) <= level before the layer take map 0, the others map 1."""

    threshold: int
    level: float
    maps: MonotoneMaps
    record: LayerRecord

    def codes(self, cdf: Floats) -> Codes:
        """The map of each row, given the current F(y0) (m, n) at all thresholds."""
        return np.asarray(cdf[self.threshold] > self.level, dtype=np.int32)


class FittingRows:
    """The fitting rows as the layers so far have made them.

    Parameters
    ----------
    pits, weight : ndarray of shape (n,)
        In the order of the data.
    cdf : ndarray of shape (m, n)
        F(y0) at the m thresholds; taken over and changed.
    grid : Grid
    workers : Workers
        Threads for the loops over thresholds.
    """

    def __init__(
        self, pits: Floats, weight: Floats, cdf: Floats, grid: Grid, workers: Workers
    ) -> None:
        self._workers = workers
        self.pits, self.weight, self.cdf, self.grid = pits, weight, cdf, grid
        self._order = np.argsort(pits, kind="stable")
        self._bounds = no_bounds(grid)
        workers.each(self._fill_bounds, *cdf.shape)

    def worst_cell(self) -> Cell | None:
        """Where the threshold calibration error is largest."""
        return worst_cell(self._bounds, self.pits, self.weight, self.cdf, self._order, self.grid)

    def whole(self) -> Cell:
        """All rows as one group: level 1 of any threshold."""
        error = area_from_uniform(self.pits[self._order], self.weight[self._order])
        return Cell(0, 1.0, error, float(self.weight.sum()))

    def add_layer(self, cell: Cell) -> Layer:
        """Recalibrate the two groups."""
        upper = self.cdf[cell.threshold] > cell.level
        above = upper[self._order]
        parts = [self._order[~above], self._order[above]]
        maps = MonotoneMaps([isotonic_knots(self.pits[i], self.weight[i]) for i in parts])
        codes = upper.astype(np.int32)
        self.pits = maps(self.pits, codes)
        # A map ascends, so each group is in order still, and what is left is a merge.
        rows = np.concatenate(parts)
        self._order = rows[np.argsort(self.pits[rows], kind="stable")]

        def update(part: slice) -> None:
            maps.update(self.cdf[part], codes)
            self._fill_bounds(part)

        self._workers.each(update, *self.cdf.shape)
        record = LayerRecord(
            threshold=float(self.grid.thresholds[cell.threshold]),
            level=cell.level,
            tce=cell.tce,
            n_lower=cell.n_lower,
            n_upper=float(self.weight.sum()) - cell.n_lower,
        )
        return Layer(cell.threshold, cell.level, maps, record)

    def _fill_bounds(self, part: slice) -> None:
        fill_bounds(self._bounds, part, self.pits, self.weight, self.cdf, self.grid)


def fit_layers(rows: FittingRows, max_iter: int, tol: float) -> Iterator[Layer]:
    """Layers until the worst error is at most `tol`, no groups are large enough, or `max_iter`."""
    for _ in range(max_iter):
        cell = rows.worst_cell()
        if cell is None or cell.tce <= tol:
            return
        yield rows.add_layer(cell)
