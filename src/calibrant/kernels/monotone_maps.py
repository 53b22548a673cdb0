"""Look-ups in piecewise-linear maps of [0, 1], a map of its own for each row.

The knots (x, y) of all maps, and the slopes to their right, are numbered through. The look-up
cells of map g begin at `cell_first[g]`, and `n_cells[g]` of equal width divide [0, 1]: entry c is
the last knot at or before c / n_cells, so that the knot before any value in cell c lies between
entries c and c + 1, and is most often both. The last knot of a map is never the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiling import kernel

# Indices are unsigned: numba then need not allow for one from the end.
ONE = np.uint64(1)


@kernel
def fill_cells(x: Any, first: Any, cells: Any) -> None:
    """Look-up cells of a map whose knots `x` begin at number `first`."""
    n_cells = len(cells) - 2
    last = len(x) - 2
    k = 0
    for c in range(n_cells + 2):
        edge = c / n_cells
        while k < last and x[k + 1] <= edge:
            k += 1
        cells[c] = first + k


@kernel
def knot_before(u: Any, x: Any, cells: Any, cell_first: Any, n_cells: Any) -> Any:
    """The last knot at or before `u`."""
    cell = cell_first + np.uint64(u * n_cells)
    low = np.uint64(cells[cell])
    high = np.uint64(cells[cell + ONE])
    while low < high:
        middle = (low + high + ONE) >> ONE
        if x[middle] <= u:
            low = middle
        else:
            high = middle - ONE
    return low


@kernel
def apply(
    u: Any,
    code: Any,
    out: Any,
    x: Any,
    y: Any,
    slope: Any,
    cells: Any,
    cell_first: Any,
    n_cells: Any,
) -> None:
    """out[i, r] = the map of row r at u[i, r]; `out` may be `u`."""
    n_points, n_rows = u.shape
    for i in range(n_points):
        for r in range(n_rows):
            g = code[r]
            value = u[i, r]
            k = knot_before(value, x, cells, cell_first[g], n_cells[g])
            out[i, r] = min(y[k] + (value - x[k]) * slope[k], y[k + ONE])


@kernel
def slopes(
    u: Any,
    code: Any,
    out: Any,
    x: Any,
    y: Any,
    slope: Any,
    cells: Any,
    cell_first: Any,
    n_cells: Any,
) -> None:
    """out[i, r] = the slope of the map of row r to the right of u[i, r]."""
    n_points, n_rows = u.shape
    for i in range(n_points):
        for r in range(n_rows):
            g = code[r]
            k = knot_before(u[i, r], x, cells, cell_first[g], n_cells[g])
            out[i, r] = slope[k]
