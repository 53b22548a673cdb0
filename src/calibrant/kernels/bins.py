"""Per-bin counts and exact sums, in one pass over the rows.

Bins of all panels (a panel is one class, or the top label) are numbered through. `lower` holds the
lower edge of each. `grid` has a row per panel: entry c is the bin of c / N_CELLS, so that the bin
of any value in cell c lies between entries c and c + 1, and is most often both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiling import kernel
from calibrant.kernels.exact_sums import add_exactly

# A power of two, so that N_CELLS * p is exact.
N_CELLS = 1024

# Indices are unsigned: numba then need not allow for one from the end, which halves the time.
ONE = np.uint64(1)

# What is summed in a bin of weighted rows; without weights only PROB.
PROB, WEIGHT, TRUE = 0, 1, 2
N_WEIGHTED_SUMS = 3


def bin_grid(edges: tuple[NDArray[np.float64], ...]) -> NDArray[np.uint32]:
    """The look-up grid of panels with these edges, (n_panels, N_CELLS + 2)."""
    cells = np.arange(N_CELLS + 2) / N_CELLS
    grid = np.empty((len(edges), N_CELLS + 2), dtype=np.uint32)
    offset = 0
    for row, panel_edges in zip(grid, edges, strict=True):
        n_bins = len(panel_edges) - 1
        inside = np.searchsorted(panel_edges, cells, side="right") - 1
        row[:] = np.clip(inside, 0, n_bins - 1) + offset
        offset += n_bins
    return grid


@kernel
def bin_of(p: Any, lower: Any, cells: Any) -> Any:
    """The last bin of a panel with lower edge <= p."""
    cell = np.uint64(p * N_CELLS)
    first = np.uint64(cells[cell])
    last = np.uint64(cells[cell + ONE])
    while first < last:
        middle = (first + last + ONE) >> ONE
        if p >= lower[middle]:
            first = middle
        else:
            last = middle - ONE
    return first


@kernel
def values_of_bins(prob: Any, lower: Any, cells: Any, values: Any, found: Any) -> None:
    """The value of the bin of each probability (n,)."""
    for i in range(len(prob)):
        found[i] = values[bin_of(np.float64(prob[i]), lower, cells)]


@kernel
def add_row(
    b: Any, p: Any, hit: Any, weight: Any, i: Any, count: Any, true: Any, sums: Any
) -> None:
    """Add one prediction to bin b."""
    count[b] += 1
    if weight is None:
        true[b] += hit
        add_exactly(sums[b, PROB], p)
    else:
        add_exactly(sums[b, PROB], weight[i] * p)
        add_exactly(sums[b, WEIGHT], weight[i])
        if hit:
            add_exactly(sums[b, TRUE], weight[i])


@kernel
def add_columns(
    prob: Any, target: Any, weight: Any, codes: Any, lower: Any, grid: Any,
    count: Any, true: Any, sums: Any,
) -> None:  # fmt: skip
    """Panel k holds column k of `prob` (n, K) against the event target == codes[k]."""
    for i in range(len(target)):
        if weight is not None and weight[i] == 0.0:
            continue
        for k in range(prob.shape[1]):
            p = np.float64(prob[i, k])
            b = bin_of(p, lower, grid[k])
            add_row(b, p, target[i] == codes[k], weight, i, count, true, sums)


@kernel
def add_top_label(
    prob: Any, target: Any, weight: Any, lower: Any, grid: Any,
    count: Any, true: Any, sums: Any,
) -> None:  # fmt: skip
    """The one panel holds the largest entry of each row of `prob` (n, K), the first one if tied."""
    for i in range(len(target)):
        if weight is not None and weight[i] == 0.0:
            continue
        top = 0
        for k in range(1, prob.shape[1]):
            if prob[i, k] > prob[i, top]:
                top = k
        p = np.float64(prob[i, top])
        b = bin_of(p, lower, grid[0])
        add_row(b, p, target[i] == top, weight, i, count, true, sums)
