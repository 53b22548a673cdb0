"""Which numbers were counted: ranges of whole numbers for each source, as few as there can be."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from itertools import pairwise
from operator import attrgetter
from typing import Any

from calibrant.entries import is_whole

Runs = tuple[range, ...]
"""Ascending ranges with gaps between them."""

MOST_GAPS = 1000
"""Gaps that are remembered for a source; beyond that the lowest is taken as counted."""


def overlap(runs: Runs, new: range) -> range:
    """The numbers, from first to last, that `new` shares with the runs; empty if there are none."""
    shared = [
        range(max(run.start, new.start), min(run.stop, new.stop))
        for run in runs
        if run.start < new.stop and new.start < run.stop
    ]
    return range(shared[0].start, shared[-1].stop) if shared else range(0)


def holds(runs: Runs, new: range) -> bool:
    """Whether all numbers of `new` are in the runs."""
    return any(run.start <= new.start and new.stop <= run.stop for run in runs)


def union(runs: Iterable[range]) -> Runs:
    """The runs of all numbers in some ranges."""
    joined: list[range] = []
    for run in sorted(runs, key=attrgetter("start")):
        if joined and run.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(joined[-1].stop, run.stop))
        else:
            joined.append(run)
    if (excess := len(joined) - 1 - MOST_GAPS) > 0:
        joined[: excess + 1] = [range(joined[0].start, joined[excess].stop)]
    return tuple(joined)


def as_numbers(source: Any, offset: Any) -> tuple[str, range]:
    """The place of a batch, if it is one."""
    if not isinstance(source, str) or not source:
        raise ValueError(f"source must be text, and goes with offset, got {source!r}.")
    if is_whole(offset) and offset >= 0:
        return source, range(int(offset), int(offset) + 1)
    if isinstance(offset, range) and offset.step == 1 and 0 <= offset.start < offset.stop:
        return source, offset
    raise ValueError(
        "offset must be a whole number of at least 0, or a range of such numbers in steps of 1, "
        f"got {offset!r}."
    )


def as_runs(pairs: Any, name: str) -> Runs:
    """The runs from [[start, stop], ...]; ValueError if they are none."""
    fits = isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(map(is_whole, pair)) for pair in pairs
    )
    runs = tuple(range(*pair) for pair in pairs) if fits else ()
    flat = [end for run in runs for end in (run.start, run.stop)]
    if not runs or flat[0] < 0 or any(a >= b for a, b in pairwise(flat)):
        raise ValueError(
            f"{name} must be a list of ascending [start, stop], got {reprlib.repr(pairs)}."
        )
    return runs
