"""Differences of the gaps of two samples, bin by bin: how large, and how large by chance alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGE = 20
"""Events and non-events that a bin must expect in both samples to be taken as normal."""

_HALVINGS = 36
_MOST_COUNTS = 64
_TAIL = 1e-13
_N_CELLS = 1024


class Bins(NamedTuple):
    """Rows, events and mean prediction of two samples, each (2, ...)."""

    n: Floats
    events: Floats
    prob: Floats

    def where(self, chosen: Any) -> Bins:
        """Some of the bins."""
        return Bins(*(column[:, chosen] for column in self))


def differences(bins: Bins) -> tuple[Floats, Floats]:
    """Gap of the second sample minus gap of the first, and its variance if they are equal."""
    rates = _null_rates(bins)
    gap = bins.events / bins.n - bins.prob
    return gap[1] - gap[0], (rates * (1.0 - rates) / bins.n).sum(axis=0)


def squares(difference: Floats, variance: Floats) -> Floats:
    """Squared differences in units of their variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0.0, 0.0, difference**2 / variance)


def pvalue(bins: Bins, terms: Floats) -> float:
    """How often the sum of the bins' terms is as large or larger if their gaps are equal."""
    from scipy.special import chdtrc

    total = float(terms.sum())
    if total == 0.0:
        return 1.0
    if not np.isfinite(total):
        return 0.0
    rates = _null_rates(bins)
    large = (np.minimum(rates, 1.0 - rates) * bins.n).min(axis=0) >= LARGE
    n_large = int(large.sum())
    if large.all():
        return float(chdtrc(n_large, total))
    # Terms of small bins are rounded to cells of equal width, the observed ones as all others.
    width = total / _N_CELLS
    small = np.flatnonzero(~large)
    observed = int(np.rint(terms[small] / width).sum())
    chance = np.eye(1, _N_CELLS + len(terms))[0]
    beyond = 0.0
    for number in small:
        cells = _cells_of_term(bins.where(number), rates[:, number], width, len(chance))
        # Only sums of positive numbers, so that a tiny tail is as accurate as a large one.
        tails = cells[::-1].cumsum()[::-1]
        beyond += float(chance @ tails[:0:-1])
        chance = np.convolve(chance, cells[:-1])[: len(chance)]
    if n_large == 0:
        return min(beyond + float(chance[observed:].sum()), 1.0)
    lacking = (observed - np.arange(len(chance))) * width + terms[large].sum()
    return min(beyond + float(chance @ chdtrc(n_large, np.maximum(lacking, 0.0))), 1.0)


def _cells_of_term(bin_: Bins, rates: Floats, width: float, n_cells: int) -> Floats:
    """Chances of a bin's term, rounded to cells: the last of n_cells + 1 holds all beyond."""
    (first, p_first), (second, p_second) = map(_counts, bin_.n, rates)
    events = np.stack(np.meshgrid(first, second, indexing="ij"))
    pairs = Bins(bin_.n[:, np.newaxis, np.newaxis], events, bin_.prob[:, np.newaxis, np.newaxis])
    difference, variance = differences(pairs)
    cells = np.minimum(np.rint(squares(difference, variance) / width), n_cells).astype(np.intp)
    weights = np.outer(p_first, p_second)
    chances = np.bincount(cells.ravel(), weights.ravel(), minlength=n_cells + 1)
    return np.asarray(chances, dtype=np.float64)


def _counts(n: float, rate: float) -> tuple[Floats, Floats]:
    """Counts that a binomial variable takes, neighbours together where they are many, and chances.

    What is left out beyond both ends goes to the ends.
    """
    from scipy.stats import binom

    low, high = binom.ppf([_TAIL, 1.0 - _TAIL], n, rate)
    n_counts = min(high - low + 1, _MOST_COUNTS)
    starts = np.floor(np.linspace(low, high + 1, int(n_counts) + 1))
    below = binom.cdf(starts[1:-1] - 1, n, rate)
    chances = np.diff(np.concatenate([[0.0], below, [1.0]]))
    return (starts[:-1] + starts[1:] - 1) / 2, chances


def _null_rates(bins: Bins) -> Floats:
    """Most likely event rates that exceed the mean predictions by one and the same gap."""
    low, high = -bins.prob.min(axis=0), 1.0 - bins.prob.max(axis=0)
    shape = np.broadcast_shapes(bins.n.shape[1:], bins.events.shape[1:])
    low, high = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
    middle = (low + high) / 2
    for _ in range(_HALVINGS):
        rates = bins.prob + middle
        with np.errstate(divide="ignore", invalid="ignore"):
            # The derivative of the log-likelihood, which falls as the gap rises.
            slope = (bins.events / rates - (bins.n - bins.events) / (1.0 - rates)).sum(axis=0)
        low, high = np.where(slope > 0.0, middle, low), np.where(slope > 0.0, high, middle)
        middle = (low + high) / 2
    return np.asarray(np.clip(bins.prob + middle, 0.0, 1.0))
