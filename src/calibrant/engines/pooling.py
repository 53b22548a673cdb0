"""Isotonic regression of a column that stays where it is, exactly and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.isotonic import Pools
from calibrant.engines.cells import cell_of
from calibrant.engines.fits_rows import TrainingRows, arrays_of

# So many rows are collected at a time.
_MANY_ROWS = 1 << 23
_N_CELLS = 4096

_CELL = "cell"

Floats = NDArray[np.float64]


class _Cells(NamedTuple):
    """Consecutive ranges of probabilities that have rows."""

    first: Floats
    last: Floats
    total: Floats
    events: Floats
    rows: Floats

    def part(self, start: int, stop: int) -> _Cells:
        return _Cells(*(column[start:stop] for column in self))


def pooled(rows: TrainingRows) -> Pools:
    """Pools of the nondecreasing frequencies, as of all distinct probabilities together.

    Up to `_MANY_ROWS` rows are collected at once: a number, the class and the weight of each. More
    rows are first counted in 4096 cells. Those of consecutive cells are then collected in turn, as
    many cells at a time as hold so many rows, and pooled at once; cells of a single probability
    need no rows. What adjacent violators within a range are pooled into is always part of one pool
    of the whole, so that pooling the ranges' pools is exact.
    """
    low, high = float(rows.lows[0]), float(rows.highs[0])
    parts = list(_ranges(rows, low, high, float(rows.counts.sum())))
    columns = zip(*((p.first, p.last, p.total, p.events) for p in parts), strict=True)
    return Pools(*map(np.concatenate, columns)).pooled()


def _ranges(rows: TrainingRows, low: float, high: float, n_rows: float) -> Iterator[Pools]:
    """Pools of the probabilities from `low` to `high`, range by range."""
    if n_rows <= _MANY_ROWS:
        yield _collected(rows, low, high).pooled()
        return
    cells = _counted(rows, low, high)
    for start, stop in _stretches(cells):
        part = cells.part(start, stop)
        if np.array_equal(part.first, part.last):
            yield Pools(part.first, part.last, part.total, part.events).pooled()
        else:
            first, last = float(part.first[0]), float(part.last[-1])
            yield from _ranges(rows, first, last, float(part.rows.sum()))


def _stretches(cells: _Cells) -> Iterator[tuple[int, int]]:
    """Ranges of cells that hold at most `_MANY_ROWS` rows, or are one cell."""
    alone = (cells.first == cells.last) & (cells.rows > _MANY_ROWS / 16)
    start = held = 0
    for k, count in enumerate(cells.rows.tolist()):
        if k > start and (held + count > _MANY_ROWS or alone[k - 1] or alone[k]):
            yield start, k
            start, held = k, 0
        held += count
    yield start, len(cells.rows)


def _collected(rows: TrainingRows, low: float, high: float) -> Pools:
    columns = {"point": _point(rows), "event": rows.hit(1).cast(nw.Int8)}
    weighted = rows.predictions.weight is not None
    if weighted:
        columns["weight"] = rows.weight
    chosen = rows.frame.filter(rows.scores[0].is_between(low, high))
    found = arrays_of(chosen.select(*(value.alias(name) for name, value in columns.items())))
    return Pools.of_rows(found["point"], found["event"], found["weight"] if weighted else None)


def _counted(rows: TrainingRows, low: float, high: float) -> _Cells:
    score, weight = rows.scores[0], rows.weight
    cell = cell_of(score, low, high, _N_CELLS - 1)
    event = nw.when(rows.hit(1)).then(weight).otherwise(nw.lit(0.0))
    chosen = rows.frame.filter(score.is_between(low, high))
    columns = {_CELL: cell, "point": _point(rows), "total": weight, "events": event}
    groups = chosen.select(*(value.alias(name) for name, value in columns.items())).group_by(_CELL)
    found = arrays_of(
        groups.agg(
            nw.col("point").min().alias("first"),
            nw.col("point").max().alias("last"),
            nw.col("total").sum().alias("total"),
            nw.col("events").sum().alias("events"),
            nw.len().alias("rows"),
        )
    )
    order = np.argsort(found["first"])
    return _Cells(*(found[name][order].astype(np.float64) for name in _Cells._fields))


def _point(rows: TrainingRows) -> nw.Expr:
    """The probability; adding zero makes one of the two zeros."""
    return rows.scores[0] + 0.0
