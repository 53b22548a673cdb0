r"""Sums of kernel terms over all pairs of rows of a frame, from sums in the cells of a grid.

Between cells the Laplace kernel is a product. For rows i of cell a and j of a later cell b, with
lower edges s and t of the cells and bandwidth h,

.. math:: e^{-(r_j - r_i) / h} = e^{(r_i - s) / h} \; e^{-(t - s) / h} \; e^{-(r_j - t) / h},

so that :math:`\sum_i e_i e^{(r_i - s)/h}` and :math:`\sum_j e_j e^{-(r_j - t)/h}` of each cell tell
the sum over all pairs of rows in different cells, exactly. Pairs in one cell are at most its spread
d (largest minus smallest r) apart: their kernel is between exp(-d/h) and 1 and is taken for the
mean of the two. So the sum over pairs i != j is wrong by at most

.. math:: \sum_a \tfrac{1}{2} (1 - e^{-d_a / h})
          \Bigl\{\Bigl(\sum_{i \in a} |e_i|\Bigr)^2 - \sum_{i \in a} e_i^2\Bigr\},

which is at most :math:`n^2 / (2 G h)` for G cells, and about :math:`n^2 / (2 G^2 h)` where rows
are spread evenly. Terms of a row with itself are summed exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.engines.predictions import FramePredictions, check_frame, check_weights
from calibrant.engines.source import CELL, ROWS
from calibrant.metrics.kernel_terms import KINDS, KernelSums

Floats = NDArray[np.float64]

_MOST_CELLS = 2**22
# Bandwidth in cells; exponentials over wider cells could overflow.
_NARROWEST = 0.01


@dataclass(frozen=True, slots=True)
class GridTerms:
    """Sums in the non-empty cells of a grid, in ascending order; the terms of an unseen sample."""

    start: Floats
    """Lower edge of the cell."""
    spread: Floats
    rows: NDArray[np.int64]
    weight: Floats | None
    residual: Floats
    """Sum of w e."""
    size: Floats
    """Sum of w |e|."""
    rising: Floats
    """Sum of w e exp((r - start) / h)."""
    falling: Floats
    """Sum of w e exp(-(r - start) / h)."""
    squared: Floats
    """Sum of (w e)^2."""
    single: float
    """Sum of w e^2 over all rows."""
    bandwidth: float

    def __len__(self) -> int:
        return int(self.rows.sum())

    def sums(self) -> KernelSums:
        """Time and memory O(cells)."""
        decay = np.exp(-np.diff(self.start) / self.bandwidth).tolist()
        between = earlier = 0.0
        for d, rising, falling in zip(
            decay, self.rising[:-1].tolist(), self.falling[1:].tolist(), strict=True
        ):
            earlier = (earlier + rising) * d
            between += falling * earlier
        nearest = 0.5 * (1.0 + np.exp(-self.spread / self.bandwidth))
        within = float(nearest @ (self.residual**2 - self.squared))
        return KernelSums(2.0 * between + within, float(self.squared.sum()), self.single)

    def error_bound(self) -> float:
        """How far the sum between rows may be off."""
        half = -0.5 * np.expm1(-self.spread / self.bandwidth)
        return float(half @ np.maximum(self.size**2 - self.squared, 0.0))


def grid_terms(
    frame: Any, *, kind: str, bandwidth: float | str, n_cells: int, **names: Any
) -> Iterator[tuple[Any, list[GridTerms]]]:
    """For each group its terms: one, or one for each class if `kind` is "classwise"."""
    if kind not in KINDS:
        raise ValueError(f"kind must be 'canonical', 'confidence' or 'classwise', got {kind!r}.")
    h = _check_bandwidth(bandwidth)
    _check_n_cells(n_cells, h)
    data = check_frame(frame, **names)
    if kind == "canonical" and not data.binary:
        raise ValueError(
            "kind='canonical' compares all pairs of rows, which a frame cannot: pass "
            "kind='confidence' or kind='classwise'."
        )
    data = data.of_kind(kind)
    plans = [_plan(data, k, h, n_cells) for k in range(len(data.prob))]
    columns = data.source.collect(plans, data.rules)
    for group, places in data.source.groups(columns).items():
        panel, cell = np.divmod(columns[CELL][places], n_cells + 1)
        if data.weight is not None:
            check_weights(group, float(columns["weight"][places].sum()))
        yield (
            group,
            [
                _terms(columns, places[panel == k], cell[panel == k], h, n_cells)
                for k in range(len(plans))
            ],
        )


def _plan(data: FramePredictions, k: int, bandwidth: float, n_cells: int) -> nw.LazyFrame[Any]:
    """The sums of panel k, in cells numbered after those of the panels before."""
    prob, hit = data.prob[k], data.hits[k].cast(nw.Int64)
    cell = (prob * n_cells).floor().cast(nw.Float64)
    residual = hit - prob
    weighted = residual if data.weight is None else data.weight * residual
    rise = ((prob - cell / n_cells) / bandwidth).exp()
    sums = {
        "residual": weighted,
        "size": weighted.abs(),
        "rising": weighted * rise,
        "falling": weighted / rise,
        "squared": weighted * weighted,
    }
    if data.weight is not None:
        sums |= {"single": weighted * residual, "weight": data.weight}
    return data.source.plan(
        sums,
        lowest={"low": prob},
        highest={"high": prob},
        cell=cell + float(k * (n_cells + 1)),
        rules=data.rules if k == 0 else (),
    )


def _terms(
    columns: dict[str, NDArray[Any]],
    places: NDArray[np.intp],
    cell: Floats,
    bandwidth: float,
    n_cells: int,
) -> GridTerms:
    order = np.argsort(cell)
    of = {name: values[places[order]] for name, values in columns.items()}
    weighted = "weight" in of
    return GridTerms(
        start=cell[order] / n_cells,
        spread=of["high"] - of["low"],
        rows=of[ROWS],
        weight=of["weight"] if weighted else None,
        residual=of["residual"],
        size=of["size"],
        rising=of["rising"],
        falling=of["falling"],
        squared=of["squared"],
        single=float(of["single" if weighted else "squared"].sum()),
        bandwidth=bandwidth,
    )


def _check_bandwidth(bandwidth: float | str) -> float:
    if isinstance(bandwidth, str) and bandwidth == "median":
        raise ValueError(
            "bandwidth='median' compares all pairs of rows, which a frame cannot: pass a number."
        )
    number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool)
    if not number or not 0.0 < float(bandwidth) < np.inf:
        raise ValueError(f"bandwidth must be a positive number, got {bandwidth!r}.")
    return float(bandwidth)


def _check_n_cells(n_cells: Any, bandwidth: float) -> None:
    whole = isinstance(n_cells, Integral) and not isinstance(n_cells, bool)
    if not whole or not 1 <= n_cells <= _MOST_CELLS:
        raise ValueError(f"n_cells must be an integer from 1 to {_MOST_CELLS}, got {n_cells!r}.")
    if n_cells * bandwidth < _NARROWEST:
        raise ValueError(
            f"n_cells={n_cells} cells are too wide for a bandwidth of {bandwidth:g}: their number "
            f"must be {_NARROWEST:g} / bandwidth or more."
        )
