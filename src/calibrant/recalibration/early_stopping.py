r"""How many layers, by what they do to rows that they were not fitted on.

The yardstick is the reliability gap of decision makers at every threshold y0 and level of the grid.
One acts where F(y0) >= level, pays c where the outcome is above y0 after all, and 1 - c where it is
not but he did not act. What the forecast promises him minus what he gets is c A + (1 - c) B,

.. math:: A = mean(a r), \quad B = -mean((1 - a) r), \quad r = 1[y \le y_0] - F(y_0),

and the mean of its absolute value over all c in [0, 1] is (|A| + |B|) / 2 where A and B have the
same sign, and (A^2 + B^2) / (2 (|A| + |B|)) otherwise. It is averaged over the folds. (Pooling A
and B over the folds first would favour fitting whatever there is: what a map overshoots in one fold
it undershoots in the others.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.forecasts.base import Floats
from calibrant.metrics.average import sorted_pits
from calibrant.parallel import Progress, Workers
from calibrant.recalibration.layers import FittingRows, fit_layers
from calibrant.recalibration.maps import MonotoneMaps, isotonic_knots
from calibrant.recalibration.search import Grid
from calibrant.splits import Split


class Rows(NamedTuple):
    """Rows in the order of the data."""

    y: Floats
    pits: Floats
    weight: Floats
    cdf: Floats
    """F(y0) at all thresholds, (m, n)."""

    def take(self, rows: NDArray[np.intp]) -> Rows:
        return Rows(self.y[rows], self.pits[rows], self.weight[rows], self.cdf[:, rows])


class Choice(NamedTuple):
    """What was found for the candidates: no layer, the average map, 1, 2, ... layers."""

    best: int
    gaps: Floats
    """Held-out gap of each candidate."""


def choose(
    rows: Rows,
    grid: Grid,
    splits: Sequence[Split],
    max_iter: int,
    tol: float,
    workers: Workers,
    progress: Progress | None,
) -> Choice:
    """Cross-validate; the least gap wins, and of equal ones the simplest candidate."""
    gaps = np.zeros(max_iter + 2)
    for done, (train, test) in enumerate(splits, start=1):
        fitted, held_out = rows.take(train), rows.take(test)
        everyone = isotonic_knots(*sorted_pits(fitted.pits, fitted.weight))
        one_map = MonotoneMaps([everyone])(held_out.cdf, np.zeros(len(test), dtype=np.int32))
        gaps[1] += _mean_gap(held_out._replace(cdf=one_map), grid)
        gap = _mean_gap(held_out, grid)
        gaps[0] += gap
        state = FittingRows(fitted.pits, fitted.weight, fitted.cdf, grid, workers)
        candidate = 2
        for layer in fit_layers(state, max_iter, tol):
            layer.maps.update(held_out.cdf, layer.codes(held_out.cdf))
            gap = _mean_gap(held_out, grid)
            gaps[candidate] += gap
            candidate += 1
        # More layers than could be fitted leave the forecasts as they are.
        gaps[candidate:] += gap
        if progress is not None:
            progress(done, len(splits))
    return Choice(int(gaps.argmin()), gaps / len(splits))


def _mean_gap(rows: Rows, grid: Grid) -> float:
    """Mean gap over thresholds, levels and cost ratios."""
    a, b = _promised_minus_paid(rows, grid) / rows.weight.sum()
    size = np.abs(a) + np.abs(b)
    opposite = np.divide(a**2 + b**2, 2.0 * size, out=np.zeros_like(size), where=size > 0.0)
    return float(np.where(a * b >= 0.0, size / 2.0, opposite).mean())


def _promised_minus_paid(rows: Rows, grid: Grid) -> Floats:
    """Sums A and B of all thresholds and levels, (2, m, L)."""
    from calibrant.kernels.residual_sums import add_residuals

    buckets = np.zeros((len(grid.thresholds), len(grid.levels) + 1))
    for j, threshold in enumerate(grid.thresholds):
        add_residuals(rows.cdf[j], rows.y, threshold, rows.weight, grid.levels, buckets[j])
    below = np.cumsum(buckets, axis=1)
    not_acting = below[:, :-1]
    return np.stack([below[:, -1:] - not_acting, -not_acting])
