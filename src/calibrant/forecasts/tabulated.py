"""Predictive distributions given by their CDF on a grid of outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from calibrant import frames
from calibrant.forecasts.base import Floats
from calibrant.forecasts.piecewise import (
    PiecewiseLinear,
    as_table,
    check_ascending,
    count_rows,
    numbered_columns,
    rows_kept,
)
from calibrant.inputs import as_real_array

_END_TOLERANCE = 1e-9


class Tabulated(PiecewiseLinear):
    """A distribution for each row from its CDF at the points of a common grid.

    The CDF is 0 below the first grid point, linear between grid points, and 1 from the last one
    on. A CDF above 0 at the first grid point is a point mass there, such as the probability of no
    rain.

    Parameters
    ----------
    grid : array-like of shape (G,)
        Outcomes, strictly ascending, at least two.
    cdf : array-like of shape (n, G)
        Probability of at most each grid point, a row for each forecast: within [0, 1], ascending
        along the row to 1 (within 1e-9, then taken as 1) at the last grid point.

    Attributes
    ----------
    grid : numpy.ndarray of shape (G,)
    probabilities : numpy.ndarray of shape (n, G)
        The argument `cdf`.

    Raises
    ------
    ValueError
        If the grid or a CDF is not as above, a number is not finite, or shapes do not line up.

    Notes
    -----
    `cdf` and `ppf` take O(log G) for a point of a row; `mean`, `std` and `crps` are closed forms
    in O(G) for a row.

    Examples
    --------
    >>> from calibrant.forecasts import Tabulated
    >>> forecast = Tabulated([0.0, 1.0, 5.0], [[0.5, 0.7, 1.0], [0.0, 0.2, 1.0]])
    >>> forecast.cdf([0.0, 3.0])
    array([0.5, 0.6])
    >>> forecast.mean().round(4)
    array([1. , 2.5])
    >>> forecast.crps([0.0, 3.0]).round(4)
    array([0.2833, 0.4667])
    """

    _row_fields = ("probabilities",)
    _shared_fields = ("grid",)

    def __init__(self, grid: Any, cdf: Any) -> None:
        self.grid = _as_grid(grid)
        self.probabilities = _as_cdf(cdf, self.grid)
        no_tail = np.zeros(len(self.probabilities))
        self._set_curve(self.grid, self.probabilities, no_tail, no_tail)

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.grid, self.probabilities[rows_kept(rows, len(self))])

    @classmethod
    def _concatenated(cls, parts: Sequence[Self]) -> Self:
        grid = parts[0].grid
        if not all(np.array_equal(part.grid, grid) for part in parts):
            raise ValueError(
                "forecasts with different grid cannot be concatenated: evaluate their cdf on a "
                "common grid first."
            )
        return cls(grid, np.concatenate([part.probabilities for part in parts]))

    def _check_density(self) -> None:
        mass = self.probabilities[:, :1]
        if mass.any():
            row = int(mass.any(axis=1).argmax())
            raise ValueError(
                f"cdf[{row}, 0] is {float(mass[row, 0])!r}, a point mass at "
                f"{float(self.grid[0])!r} ({count_rows(mass > 0.0)} have one), and has no density "
                "there: use crps in place of a log score."
            )

    def _panel_edges(self) -> Floats:
        return np.broadcast_to(self.grid[:, None], self.probabilities.shape[::-1])

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame with a column of the CDF for each grid point, F and the point: F0.5."""
        names = (f"F{float(point)!r}" for point in self.grid)
        return frames.from_columns(dict(zip(names, self.probabilities.T, strict=True)), backend)

    @classmethod
    def from_frame(cls, frame: Any, columns: Mapping[str, float] | None = None) -> Self:
        """The forecasts whose CDF is in the columns of a data frame.

        Parameters
        ----------
        frame : data frame
            Of pandas, Polars or PyArrow, a row for each forecast.
        columns : mapping of str to float, optional
            Grid point of each column that holds the CDF, in any order. By default the columns
            that `to_frame` writes: F and the grid point, such as F0.5.
        """
        if columns is None:
            columns = numbered_columns(frame, "F")
        names = sorted(columns, key=columns.__getitem__)
        read = frames.read_columns(frame, names)
        return cls([columns[name] for name in names], np.column_stack([read[k] for k in names]))


def _as_grid(grid: Any) -> Floats:
    array = np.asarray(as_real_array(grid, "grid"), dtype=np.float64)
    if array.ndim != 1 or len(array) < 2:
        raise ValueError(
            f"grid has shape {array.shape}: it must hold at least two outcomes, shape (G,)."
        )
    check_ascending(array, "grid", "sort it, and the columns of cdf with it")
    return array


def _as_cdf(cdf: Any, grid: Floats) -> Floats:
    array = as_table(cdf, "cdf", "grid point", len(grid), low=0.0, high=1.0).copy()
    short = array[:, -1] < 1.0 - _END_TOLERANCE
    if short.any():
        row = int(short.argmax())
        raise ValueError(
            f"cdf[{row}] ends with {float(array[row, -1])!r} at the last grid point "
            f"{float(grid[-1])!r} ({count_rows(short[:, None])} end below 1): extend the grid to "
            "where the CDF is 1."
        )
    array[:, -1] = 1.0
    falling = array[:, 1:] < array[:, :-1]
    if falling.any():
        row, k = map(int, np.unravel_index(int(falling.argmax()), falling.shape))
        before, after = array[row, k : k + 2]
        raise ValueError(
            f"cdf[{row}] falls from {float(before)!r} at {float(grid[k])!r} to {float(after)!r} at "
            f"{float(grid[k + 1])!r} ({count_rows(falling)} fall): correct it, or if it is "
            "rounding, pass numpy.maximum.accumulate(cdf, axis=1)."
        )
    return array
