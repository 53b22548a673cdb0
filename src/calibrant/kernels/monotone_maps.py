"""Look-ups in piecewise-linear maps of [0, 1], a map of its own for each row.

The knots (x, y) of all maps are numbered through. The look-up cells of map g begin at
`cell_first[g]`, and `n_cells[g]` of equal width divide [0, 1]: entry c is the last knot at or
before c / n_cells, so that the knot before any value in cell c lies between entries c and c + 1,
and is most often one of the two. The last knot of a map is never the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiling import kernel

# Indices are unsigned: numba then need not allow for one from the end.
ONE = np.uint64(1)


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
    u: Any, code: Any, x: Any, y: Any, cells: Any, cell_first: Any, n_cells: Any, out: Any
) -> None:
    """out[i, r] = the map of row r at u[i, r]; `out` may be `u`."""
    n_points, n_rows = u.shape
    for i in range(n_points):
        for r in range(n_rows):
            g = code[r]
            value = u[i, r]
            k = knot_before(value, x, cells, cell_first[g], n_cells[g])
            share = (value - x[k]) / (x[k + ONE] - x[k])
            out[i, r] = min(y[k] + (y[k + ONE] - y[k]) * share, y[k + ONE])


@kernel
def slopes(
    u: Any, code: Any, x: Any, y: Any, cells: Any, cell_first: Any, n_cells: Any, out: Any
) -> None:
    """out[i, r] = the slope of the map of row r to the right of u[i, r]."""
    n_points, n_rows = u.shape
    for i in range(n_points):
        for r in range(n_rows):
            g = code[r]
            k = knot_before(u[i, r], x, cells, cell_first[g], n_cells[g])
            out[i, r] = (y[k + ONE] - y[k]) / (x[k + ONE] - x[k])
