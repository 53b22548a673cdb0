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
_NEGLIGIBLE = 1e-17
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
    chances = np.outer(p_first, p_second)
    likely = np.nonzero(chances > _NEGLIGIBLE)
    events = np.stack([first[likely[0]], second[likely[1]]])
    difference, variance = differences(
        Bins(bin_.n[:, np.newaxis], events, bin_.prob[:, np.newaxis])
    )
    cells = np.minimum(np.rint(squares(difference, variance) / width), n_cells).astype(np.intp)
    of_cells = np.bincount(cells, chances[likely], minlength=n_cells + 1).astype(np.float64)
    of_cells[-1] += max(1.0 - of_cells.sum(), 0.0)  # what is negligible goes beyond
    return of_cells


def _counts(n: float, rate: float) -> tuple[Floats, Floats]:
    """Counts that a binomial variable takes, neighbours together where they are many, and chances.

    What is left out beyond both ends goes to the ends.
    """
    from scipy.special import bdtr

    if rate in (0.0, 1.0):
        return np.array([n * rate]), np.ones(1)
    # By Bernstein's inequality the chance to be farther from the mean is below 1e-13.
    farthest = 8.0 * np.sqrt(n * rate * (1.0 - rate)) + 20.0
    low, high = np.clip(np.round(n * rate + np.array([-farthest, farthest])), 0.0, n)
    n_counts = min(high - low + 1, _MOST_COUNTS)
    starts = np.floor(np.linspace(low, high + 1, int(n_counts) + 1))
    below = bdtr(starts[1:-1] - 1, int(n), rate)
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
        # The derivative of the log-likelihood, which falls as the gap rises, times variances.
        excess, spread = bins.events - bins.n * rates, rates * (1.0 - rates)
        rising = excess[0] * spread[1] + excess[1] * spread[0] > 0.0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        middle = (low + high) / 2
    return np.asarray(np.clip(bins.prob + middle, 0.0, 1.0))
