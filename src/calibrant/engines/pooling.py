"""Isotonic regression of a column that stays where it is, exactly and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.isotonic import Pools
from calibrant.engines.fits_rows import TrainingRows, collected

# So many distinct probabilities are collected at a time.
_MANY_ROWS = 1 << 22
_N_CELLS = 4096

_POINT, _CELL = "point", "cell"


def pooled(rows: TrainingRows) -> Pools:
    """Pools of the nondecreasing frequencies, as of all distinct probabilities together.

    Up to `_MANY_ROWS` rows the engine groups by the probability once. Of more rows it first counts
    those in 4096 cells; the rows of consecutive cells are then grouped in turn, as many cells at a
    time as hold so many rows, and pooled at once. What adjacent violators within a range are pooled
    into is always part of one pool of the whole, so that pooling the ranges' pools is exact.
    """
    low, high = float(rows.lows[0]), float(rows.highs[0])
    parts = list(_ranges(rows, low, high, float(rows.counts.sum())))
    columns = (np.concatenate(column) for column in zip(*map(_fields, parts), strict=True))
    return Pools(*columns).pooled()


def _fields(pools: Pools) -> tuple[NDArray[np.float64], ...]:
    return pools.first, pools.last, pools.total, pools.events


def _ranges(rows: TrainingRows, low: float, high: float, n_rows: float) -> Iterator[Pools]:
    """Pools of the probabilities from `low` to `high`, range by range."""
    if n_rows <= _MANY_ROWS:
        yield _grouped(rows, low, high, rows.scores[0])[0].pooled()
        return
    share = (rows.scores[0] - low) / (high - low)
    cells, counts = _grouped(rows, low, high, (share * (_N_CELLS - 1)).floor())
    # Cells of one range: the running number of rows is in the same multiple of _MANY_ROWS / 2.
    half = _MANY_ROWS / 2
    number = np.floor((np.cumsum(counts) - 1) / half)
    large = counts > half
    starts = np.flatnonzero(
        np.concatenate([[True], (np.diff(number) > 0) | large[1:] | large[:-1]])
    )
    for cut in np.split(np.arange(len(counts)), starts[1:]):
        part = Pools(*(column[cut] for column in _fields(cells)))
        if np.array_equal(part.first, part.last):
            yield part.pooled()
        else:
            first, last = float(part.first[0]), float(part.last[-1])
            yield from _ranges(rows, first, last, float(counts[cut].sum()))


def _grouped(
    rows: TrainingRows, low: float, high: float, cell: nw.Expr
) -> tuple[Pools, NDArray[np.float64]]:
    """Weight and events of each value of `cell`, ascending, and the number of rows."""
    score, weight = rows.scores[0], rows.weight
    event = nw.when(rows.hit(1)).then(weight).otherwise(nw.lit(0.0))
    chosen = rows.frame.filter(score.is_between(low, high))
    # Adding zero makes one of the two zeros.
    columns = {_POINT: score + 0.0, _CELL: cell + 0.0, "total": weight, "events": event}
    groups = chosen.select(*(value.alias(name) for name, value in columns.items())).group_by(_CELL)
    found = collected(
        groups.agg(
            nw.col(_POINT).min().alias("first"),
            nw.col(_POINT).max().alias("last"),
            nw.col("total").sum().alias("total"),
            nw.col("events").sum().alias("events"),
            nw.len().alias("rows"),
        )
    )
    order = np.argsort(found["first"])
    sums = (found[name][order].astype(np.float64) for name in ("first", "last", "total", "events"))
    return Pools(*sums), found["rows"][order].astype(np.float64)
