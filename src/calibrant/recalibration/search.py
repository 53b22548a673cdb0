"""The threshold and level with the largest threshold calibration error.

Bounds of all errors come from binned sums, in one pass over the rows for a threshold. Only errors
that may be the largest are then computed exactly, so the answer is that of computing them all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.forecasts.base import Floats

_N_CELLS = 1024
_MIN_BINS, _MAX_BINS = 32, 1024
_ROUNDING = 1e-12


class Grid(NamedTuple):
    """Where threshold calibration is asked for."""

    thresholds: Floats
    levels: Floats
    """In ascending order."""
    min_group_size: float


class Cell(NamedTuple):
    """A threshold (its number) and a level that divide the rows into two groups."""

    threshold: int
    level: float
    tce: float
    n_lower: float


class Bounds(NamedTuple):
    """For each threshold (row) and level (column), arrays of shape (m, L)."""

    below: Floats
    """Weight of the rows with F(y0) <= level."""
    least: Floats
    """At most the error."""
    most: Floats
    """At least the error."""


def no_bounds(grid: Grid) -> Bounds:
    """To be filled by `fill_bounds`."""
    return Bounds(*np.zeros((3, len(grid.thresholds), len(grid.levels))))


def fill_bounds(
    bounds: Bounds, part: slice, pit: Floats, weight: Floats, keys: Floats, grid: Grid
) -> None:
    """Bounds of the errors at some of the thresholds.

    Parameters
    ----------
    pit, weight : ndarray of shape (n,)
        PITs and weights, in any order.
    keys : ndarray of shape (m, n)
        F(y0) for each threshold, in the same order.
    """
    from calibrant.kernels.error_bounds import error_bounds

    n_bins = int(np.clip(2 ** round(1.0 + np.log2(len(pit)) / 2.0), _MIN_BINS, _MAX_BINS))
    cells = np.searchsorted(grid.levels, np.arange(_N_CELLS + 2) / _N_CELLS).astype(np.uint32)
    found = np.zeros((3, part.stop - part.start, len(grid.levels)))
    error_bounds(pit, weight, keys[part], grid.levels, cells, n_bins, found)
    for bound, values in zip(bounds, found, strict=True):
        bound[part] = values


def worst_cell(
    bounds: Bounds,
    pit: Floats,
    weight: Floats,
    keys: Floats,
    order: NDArray[np.intp],
    grid: Grid,
) -> Cell | None:
    """The largest error of groups that are large enough, if any are.

    Of equal errors the first threshold is taken, then the first level. `order` sorts the PITs.
    """
    from calibrant.kernels.group_errors import group_errors_at

    below, least, most = bounds
    smaller = np.minimum(below, weight.sum() - below)
    admissible = (smaller >= grid.min_group_size) & (smaller > 0.0)
    if not admissible.any():
        return None
    open_cells = admissible & (most >= least[admissible].max() - _ROUNDING)
    ordered, weights = pit[order], weight[order]
    tce = np.full(below.shape, -1.0)
    for j in np.flatnonzero(open_cells.any(axis=1)):
        key = keys[j, order]
        for k in np.flatnonzero(open_cells[j]):
            tce[j, k] = group_errors_at(ordered, weights, key, grid.levels[k])
    j, k = np.unravel_index(int(tce.argmax()), tce.shape)
    return Cell(int(j), float(grid.levels[k]), float(tce[j, k]), float(below[j, k]))
