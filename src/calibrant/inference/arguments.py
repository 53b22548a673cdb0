"""Arguments that bootstrap intervals and tests have in common."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np


def check_n_resamples(n_resamples: Any) -> int:
    """A whole number of at least one."""
    if not isinstance(n_resamples, Integral) or isinstance(n_resamples, bool) or n_resamples < 1:
        raise ValueError(f"n_resamples must be an integer of at least 1, got {n_resamples!r}.")
    return int(n_resamples)


def as_generator(random_state: Any) -> np.random.Generator:
    """The generator itself, or one seeded by a number or by the system."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be None, a non-negative integer or a numpy.random.Generator, got "
            f"{random_state!r}."
        ) from error
