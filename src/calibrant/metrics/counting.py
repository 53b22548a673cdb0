"""Predictions to per-bin counts and sums: which loop, on which rows, in which thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import Predictions
from calibrant.metrics.exact import ExactSums, from_count
from calibrant.parallel import in_order, n_processors

# Fewer entries than this are summed faster than a second thread is started.
_MIN_ENTRIES_PER_THREAD = 200_000

_Part = tuple[NDArray[np.int64], ExactSums]


def count_bins(
    data: Predictions, kind: str, edges: tuple[NDArray[np.float64], ...]
) -> tuple[NDArray[np.int64], ExactSums]:
    """Count and sum the predictions in each bin of each panel.

    The sums are exact, so the result depends neither on the order of the rows nor on the threads.
    """
    from calibrant.kernels import bins, exact_sums

    lower = np.concatenate([panel[:-1] for panel in edges])
    grid = bins.bin_grid(edges)
    n_sums = 1 if data.weight is None else bins.N_WEIGHTED_SUMS
    largest = 1.0 if data.weight is None else max(1.0, float(data.weight.max()))
    n_digits = exact_sums.n_digits(largest)

    def count_rows(start: int, stop: int) -> _Part:
        count, true = np.zeros((2, len(lower)), dtype=np.int64)
        sums = np.zeros((len(lower), n_sums, n_digits), dtype=np.int64)
        prob, target = data.prob[start:stop], data.target[start:stop]
        weight = None if data.weight is None else data.weight[start:stop]
        if kind == "confidence":
            bins.add_top_label(prob, target, weight, lower, grid, count, true, sums)
        else:
            columns = prob[:, np.newaxis] if data.binary else prob
            codes = np.array([1]) if data.binary else np.arange(columns.shape[1])
            bins.add_columns(columns, target, weight, codes, lower, grid, count, true, sums)
        whole = [tuple(exact_sums.whole_numbers(sums[:, which])) for which in range(n_sums)]
        if weight is None:
            return count, ExactSums(_counts(count), whole[bins.PROB], _counts(true))
        return count, ExactSums(whole[bins.WEIGHT], whole[bins.PROB], whole[bins.TRUE])

    return _over_rows(count_rows, data.prob, exact_sums.MAX_TERMS)


def _counts(count: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(map(from_count, count.tolist()))


def _over_rows(count_rows: Callable[[int, int], _Part], prob: NDArray[Any], most: int) -> _Part:
    """Split the rows over the processors, into parts of at most `most` rows."""
    n = len(prob)
    n_threads = max(1, min(n_processors(), prob.size // _MIN_ENTRIES_PER_THREAD))
    n_parts = max(n_threads, -(-n // most))
    cuts = [n * part // n_parts for part in range(n_parts + 1)]
    parts = in_order(lambda rows: count_rows(*rows), list(pairwise(cuts)))
    return reduce(lambda a, b: (a[0] + b[0], a[1].plus(b[1])), parts)
