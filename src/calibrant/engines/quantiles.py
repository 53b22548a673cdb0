"""Edges of quantile bins of a column that stays where it is: exact, from a few aggregations."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import check_n_bins
from calibrant.binning import bin_edges
from calibrant.engines.cells import cell_of
from calibrant.engines.predictions import FramePredictions
from calibrant.engines.source import CELL, ROWS

_N_CELLS = 4096
_FEW_ROWS = 200_000
# Quantiles of n numbers are made of neighbours in their order; one more on either side is safe.
_NEIGHBOURS = (-1, 0, 1, 2)

Floats = NDArray[np.float64]


class _Stretches(NamedTuple):
    """The sorted column cut into stretches, of which the smallest and largest value are known."""

    low: Floats
    high: Floats
    weight: Floats
    rows: NDArray[np.int64]


def quantile_edges(data: FramePredictions, prob: nw.Expr, n_bins: int) -> Floats:
    """What `calibrant.binning.bin_edges` gives for the collected column, without collecting it.

    The first aggregation counts the rows in 4096 cells of [0, 1], with the smallest and the
    largest value of each. Cells that hold a needed order statistic and two values or more are cut
    again, until at most 200,000 rows are in such cells: their distinct values are collected.
    Two aggregations up to about 10**8 rows, three up to 10**11, where values are spread out.

    Raises
    ------
    ValueError
        If weights are not whole numbers.
    """
    n_bins = check_n_bins(n_bins)
    stretches = _cells(data, prob, (prob * _N_CELLS).floor(), checked=True)
    while True:
        open_ = _needed(stretches, n_bins) & (stretches.low < stretches.high)
        if not open_.any():
            break
        inside = _within(prob, stretches, open_)
        few = stretches.rows[open_].sum() <= _FEW_ROWS
        cell = prob if few else _cut(prob, stretches, open_)
        finer = _cells(data.where(inside), prob, cell, checked=False)
        stretches = _replaced(stretches, open_, finer)
    return bin_edges(stretches.low, n_bins, "quantile", stretches.weight)


def _cells(data: FramePredictions, prob: nw.Expr, cell: nw.Expr, *, checked: bool) -> _Stretches:
    weight = data.weight
    columns = data.source.aggregate(
        {} if weight is None else {"weight": weight, "parts": weight - weight.floor()},
        lowest={"low": prob if weight is None else nw.when(weight > 0.0).then(prob)},
        highest={"high": prob if weight is None else nw.when(weight > 0.0).then(prob)},
        cell=cell,
        rules=data.rules if checked else (),
    )
    if weight is None:
        columns["weight"] = columns[ROWS].astype(np.float64)
    elif columns["parts"].any():
        raise ValueError(
            "strategy='quantile' on a frame counts rows, so that sample_weight must hold whole "
            "numbers: pass bin_edges= instead."
        )
    full = columns["weight"] > 0.0
    order = np.argsort(columns[CELL][full])
    names = ("low", "high", "weight", ROWS)
    return _Stretches(*(np.asarray(columns[name])[full][order] for name in names))


def _needed(stretches: _Stretches, n_bins: int) -> NDArray[np.bool_]:
    """The stretches that quantiles are read from."""
    last = np.cumsum(stretches.weight)
    position = np.floor(np.arange(1, n_bins) / n_bins * last[-1])
    ranks = np.clip(np.add.outer(_NEIGHBOURS, position).ravel(), 1, last[-1])
    needed = np.zeros(len(last), dtype=bool)
    needed[np.searchsorted(last, ranks)] = True
    return needed


def _within(prob: nw.Expr, stretches: _Stretches, chosen: NDArray[np.bool_]) -> nw.Expr:
    low, high = stretches.low[chosen].tolist(), stretches.high[chosen].tolist()
    return reduce(or_, map(prob.is_between, low, high))


def _cut(prob: nw.Expr, stretches: _Stretches, chosen: NDArray[np.bool_]) -> nw.Expr:
    """Cells of the chosen stretches: any that do not change the order of the values will do."""
    low, high = stretches.low[chosen], stretches.high[chosen]
    n_cells = _N_CELLS // len(low) + 2
    cell = nw.lit(0.0)
    for k, (start, stop) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        own = cell_of(prob, start, stop, n_cells).cast(nw.Float64) + float(k * (n_cells + 1))
        cell = nw.when(prob >= start).then(own).otherwise(cell)
    return cell


def _replaced(stretches: _Stretches, chosen: NDArray[np.bool_], finer: _Stretches) -> _Stretches:
    """The finer stretches in place of the chosen ones."""
    kept = [np.asarray(column)[~chosen] for column in stretches]
    low = np.concatenate([kept[0], finer.low])
    order = np.argsort(low, kind="stable")
    return _Stretches(*(np.concatenate(both)[order] for both in zip(kept, finer, strict=True)))
