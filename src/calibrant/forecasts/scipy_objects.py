"""Distributions of SciPy's newer kind, such as ``scipy.stats.Normal(mu=0.0)``, as forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.forecasts.base import Floats
from calibrant.forecasts.from_cdf import FromCDF, Source


def is_newer(distribution: Any) -> bool:
    """Whether it is one of those objects, which have no common base class that is public."""
    modules = {kind.__module__.partition(".")[0] for kind in type(distribution).__mro__}
    return "scipy" in modules and callable(getattr(distribution, "icdf", None))


def from_object(distribution: Any) -> FromCDF:
    """Forecasts with as many rows as the parameters have; ValueError if those are not (n,)."""
    shape = np.shape(distribution.cdf(0.0))
    if len(shape) > 1 or shape == (0,):
        raise ValueError(
            f"frozen has parameters of shape {shape} together: each must be a number or hold one "
            "for each of the same n rows, shape (n,)."
        )
    kinds = {kind.__name__ for kind in type(distribution).__mro__}
    discrete = "DiscreteDistribution" in kinds
    density = distribution.logpmf if discrete else distribution.logpdf

    def cdf(points: Floats) -> Any:
        # Between whole numbers SciPy interpolates.
        return distribution.cdf(np.floor(points) if discrete else points)

    source = Source(
        name=type(distribution).__name__,
        n=shape[0] if shape else 1,
        cdf=cdf,
        ppf=distribution.icdf,
        logpdf=density,
        mass=distribution.pmf if discrete else None,
        mean=distribution.mean,
        std=distribution.standard_deviation,
    )
    return FromCDF([source])
