"""What chance alone does to the frequencies that displays draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from calibrant.displays import drawing
from calibrant.displays.drawing import Floats
from calibrant.metrics import ReliabilityTable


def checked_band(band: Any, table: ReliabilityTable) -> str | None:
    """The kind of bars asked for, "auto" decided; ValueError where the table has no such bars."""
    drawing.check_option(band, "band", ("auto", "consistency", "confidence", None))
    weighted = not np.array_equal(table.weight, table.count)
    if band == "auto":
        return None if weighted else "consistency"
    if band is not None and weighted:
        raise ValueError(
            f"band={band!r} needs a table without weights: how many independent rows a "
            "weighted bin holds is not known; pass band=None."
        )
    return None if band is None else str(band)


def consistency(prob: Floats, count: Floats, level: float) -> tuple[Floats, Floats]:
    """Central binomial quantiles of the frequency of events of probability `prob`.

    nan where `count` is 0.
    """
    tail = (1.0 - level) / 2.0
    low, high = (stats.binom.ppf(q, count, prob) for q in (tail, 1.0 - tail))
    with np.errstate(invalid="ignore"):
        return low / count, high / count


def wilson(frequency: Floats, count: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's score interval of the probability behind a frequency; nan where `count` is 0."""
    z = stats.norm.ppf(0.5 + level / 2.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = (frequency + z**2 / (2.0 * count)) / (1.0 + z**2 / count)
        half = np.sqrt(frequency * (1.0 - frequency) / count + z**2 / (4.0 * count**2))
        half *= z / (1.0 + z**2 / count)
    # Rounding must not push the end of the interval past the frequency that it holds.
    return np.clip(middle - half, 0.0, frequency), np.clip(middle + half, frequency, 1.0)


def uniform_bins(n: int, n_bins: int, level: float) -> tuple[float, float]:
    """Frequencies that all of `n_bins` equal bins of n uniform numbers keep within together.

    Binomial quantiles with Bonferroni's correction: the probability is `level` or more.
    """
    tail = (1.0 - level) / (2.0 * n_bins)
    low, high = stats.binom.ppf([tail, 1.0 - tail], n, 1.0 / n_bins) / n
    return float(low), float(high)


def uniform_ecdf(n: int, level: float) -> float:
    """The half width of the band that holds the whole ECDF of n uniform numbers: exact."""
    return float(stats.kstwo.ppf(level, n))
