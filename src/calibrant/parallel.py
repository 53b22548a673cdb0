"""Work spread over the processors by threads, for loops that release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], object]

# Waking a thread pays for loops over at least so many numbers.
_WORTH_A_THREAD = 60_000


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


class Workers:
    """Threads that are kept for many short loops; use it in a `with` block."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(n_processors() - 1) if n_processors() > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def each(self, function: Callable[[slice], object], n_items: int, size: int) -> None:
        """Run over items of `size` numbers each, split evenly over the processors if that pays."""
        n_parts = 1
        if self._pool is not None:
            n_parts = max(1, min(n_processors(), n_items, n_items * size // _WORTH_A_THREAD))
        edges = [n_items * part // n_parts for part in range(n_parts + 1)]
        first, *others = map(slice, edges[:-1], edges[1:])
        futures = [self._pool.submit(function, part) for part in others] if self._pool else []
        function(first)
        for future in futures:
            future.result()


def n_processors() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1
