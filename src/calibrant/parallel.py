"""Work spread over the processors by threads, for loops that release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], object]

# Starting a thread costs as much as a look-up or so of this many numbers.
_WORTH_A_THREAD = 30_000


def in_order(
    function: Callable[[Item], Result], items: Sequence[Item], progress: Progress | None = None
) -> Iterator[Result]:
    """The results in the order of the items, so that sums over them do not depend on the threads.

    `progress` is called in the caller's thread with the number of finished items and of all items.
    When the caller is interrupted or fails, items not yet begun are dropped.
    """
    n_threads = min(n_processors(), len(items))
    pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
    try:
        results = map(function, items) if pool is None else pool.map(function, items)
        for done, result in enumerate(results, start=1):
            if progress is not None:
                progress(done, len(items))
            yield result
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def each_of(function: Callable[[slice], object], n_items: int, size: int) -> None:
    """Run over items of `size` numbers each, split evenly over the processors if that pays."""
    n_parts = min(n_processors(), n_items, max(1, n_items * size // _WORTH_A_THREAD))
    edges = [n_items * part // n_parts for part in range(n_parts + 1)]
    for _ in in_order(function, list(map(slice, edges[:-1], edges[1:]))):
        pass


def n_processors() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1
