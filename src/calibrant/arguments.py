"""Arguments that several parts of the library take."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def check_n_resamples(n_resamples: Any) -> int:
    """A whole number of at least one."""
    if not isinstance(n_resamples, Integral) or isinstance(n_resamples, bool) or n_resamples < 1:
        raise ValueError(f"n_resamples must be an integer of at least 1, got {n_resamples!r}.")
    return int(n_resamples)


def check_confidence_level(confidence_level: Any) -> float:
    """A number between 0 and 1."""
    number = isinstance(confidence_level, Real) and not isinstance(confidence_level, bool)
    if not number or not 0.0 < float(confidence_level) < 1.0:
        raise ValueError(
            "confidence_level must be a number between 0 and 1, such as 0.95, got "
            f"{confidence_level!r}."
        )
    return float(confidence_level)


def as_generator(random_state: Any) -> np.random.Generator:
    """The generator itself, or one seeded by a number or by the system."""
    try:
        if isinstance(random_state, bool):
            raise TypeError("a truth value is no seed")
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be None, a non-negative integer or a numpy.random.Generator, got "
            f"{random_state!r}."
        ) from error


def as_seed(random_state: Any) -> int:
    """The number itself, or one that is drawn from the generator."""
    rng = as_generator(random_state)
    return int(random_state) if isinstance(random_state, Integral) else int(rng.integers(2**32))


def check_n_bins(n_bins: Any) -> int:
    """A whole number of at least one."""
    if not isinstance(n_bins, Integral) or isinstance(n_bins, bool) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer of at least 1, got {n_bins!r}.")
    return int(n_bins)
