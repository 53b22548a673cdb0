"""Reliability tables of frames: counts and sums per bin, computed by the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.binning import bin_edges as make_edges
from calibrant.engines.predictions import FramePredictions, check_frame, check_weights
from calibrant.engines.quantiles import quantile_edges
from calibrant.engines.source import CELL, Columns
from calibrant.engines.sums import split, whole_sum
from calibrant.metrics.exact import ExactSums, from_count
from calibrant.metrics.table import ReliabilityTable

Edges = tuple[NDArray[np.float64], ...]

_PANEL = "panel"
_MOST_OF_16_BITS = 2**15
_MOST_MULTIPLES = 2**30
_UPWARDS = 1.0 + 2.0**-40


def frame_tables(
    frame: Any,
    *,
    y: str | None,
    prob: str | Sequence[str] | None,
    by: str | Sequence[str] | None,
    n_bins: int,
    kind: str,
    strategy: str,
    given: Callable[[int], Edges] | None,
    labels: Any,
    pos_label: Any,
    sample_weight: str | None,
) -> dict[Any, ReliabilityTable]:
    """The table of each group; without groups the one key is ().

    `given` makes the given edges for a number of panels. Without quantile bins it takes one
    aggregation; with them several more for each group and panel, see `quantile_edges`.
    """
    data = check_frame(
        frame,
        y=y,
        prob=prob,
        by=by,
        labels=labels,
        pos_label=pos_label,
        sample_weight=sample_weight,
    ).of_kind(kind)
    panels = "binary" if data.binary else kind
    n_panels = len(data.prob)
    if given is not None:
        return _tables(data, panels, given(n_panels), "given")
    if strategy != "quantile":
        edges = make_edges(np.empty(0), n_bins, strategy)
        return _tables(data, panels, (edges,) * n_panels, strategy)
    tables = {}
    for group, part in data.each_group().items():
        own = tuple(quantile_edges(part, number, n_bins) for number in part.prob)
        tables[group] = _tables(part, panels, own, strategy)[()]
    return tables


def bin_of(prob: nw.Expr, edges: NDArray[np.float64]) -> nw.Expr:
    """The bin of each number: the last one whose lower edge it reaches, negative below all edges.

    Equal bins have one more, which 1 alone reaches, see `counted_bin`.
    """
    n_bins = len(edges) - 1
    dtype = nw.Int16 if n_bins < _MOST_OF_16_BITS else nw.Int32
    if not _are_multiples(edges):
        return _searched(prob, edges, dtype)
    # Rounding may put it a bin too high, never too low.
    bin_ = (prob * (n_bins * _UPWARDS)).floor().cast(nw.Float64)
    too_high = prob < bin_ * float(edges[1])
    return (bin_ - too_high.cast(nw.Int16)).cast(dtype)


def counted_bin(bin_: Any, edges: NDArray[np.float64]) -> Any:
    """The last bin also holds its upper edge."""
    return np.minimum(bin_, len(edges) - 2)


def _are_multiples(edges: NDArray[np.float64]) -> bool:
    """Whether the lower edges are the multiples of the first width, to the last bit."""
    n_bins = len(edges) - 1
    equal = n_bins < _MOST_MULTIPLES and abs(edges[1] * n_bins - 1.0) < 1e-12
    return bool(equal and np.array_equal(edges[:-1], np.arange(n_bins) * edges[1]))


def _searched(prob: nw.Expr, edges: NDArray[np.float64], dtype: Any) -> nw.Expr:
    """The bin by halving.

    Engines that stop at the first true condition compare O(log n_bins) times; others compare
    O(n_bins) times.
    """

    def among(low: int, high: int) -> nw.Expr:
        if high - low == 1:
            return nw.lit(low, dtype)
        middle = (low + high) // 2
        reaches = prob >= float(edges[middle])
        return nw.when(reaches).then(among(middle, high)).otherwise(among(low, middle))

    return among(-1, len(edges) - 1)


def _tables(
    data: FramePredictions, panels: str, edges: Edges, strategy: str
) -> dict[Any, ReliabilityTable]:
    plans = [
        data.source.plan(
            _terms(prob, hit, data.weight),
            cell=prob,
            # A row that is bad in another column is found by the first panel.
            rules=data.rules if k == 0 else data.rules[k : k + 1],
            number=partial(bin_of, edges=panel),
        ).with_columns(nw.lit(k).alias(_PANEL))
        for k, (prob, hit, panel) in enumerate(zip(data.prob, data.hits, edges, strict=False))
    ]
    columns = data.source.collect(plans, data.rules)
    starts = np.cumsum([0, *(len(panel) - 1 for panel in edges)])
    for k, panel in enumerate(edges):
        own = columns[_PANEL] == k
        columns[CELL][own] = starts[k] + counted_bin(columns[CELL][own], panel)
    tables = {}
    for group, places in data.source.groups(columns).items():
        count, sums = _counted(columns, places, int(starts[-1]), weighted=data.weight is not None)
        table = ReliabilityTable(panels, strategy, data.classes.copy(), edges, count, sums)
        check_weights(group, float(table.weight.sum()))
        tables[group] = table
    return tables


def _terms(prob: nw.Expr, hit: nw.Expr, weight: nw.Expr | None) -> dict[str, nw.Expr]:
    """What is summed in each bin."""
    if weight is None:
        return {"true": hit.cast(nw.Int64), **split("prob", prob)}
    hits = nw.when(hit).then(weight).otherwise(nw.lit(0.0))
    return {
        "count": (weight > 0.0).cast(nw.Int64),
        **split("weight", weight),
        **split("prob", weight * prob),
        **split("true", hits),
    }


def _counted(
    columns: Columns, places: NDArray[np.intp], n_bins: int, *, weighted: bool
) -> tuple[NDArray[np.int64], ExactSums]:
    """Counts and sums of one group for all bins, those without rows too."""
    cells = columns[CELL][places].tolist()

    def spread(value_at: Callable[[int], int]) -> tuple[int, ...]:
        values = [0] * n_bins
        for cell, place in zip(cells, places.tolist(), strict=True):
            values[cell] += value_at(place)
        return tuple(values)

    count = spread(lambda at: int(columns["count" if weighted else "rows"][at]))
    prob = spread(lambda at: whole_sum(columns, "prob", at))
    if weighted:
        weight = spread(lambda at: whole_sum(columns, "weight", at))
        true = spread(lambda at: whole_sum(columns, "true", at))
    else:
        weight = tuple(map(from_count, count))
        true = spread(lambda at: from_count(int(columns["true"][at])))
    return np.array(count, dtype=np.int64), ExactSums(weight, prob, true)
