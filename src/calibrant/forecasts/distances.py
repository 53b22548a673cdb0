r"""Expected distances of normal and Laplace variables, which the score of a mixture is made of.

.. math:: CRPS = E|X - y| - \tfrac12 E|X - X'|

Gneiting and Raftery (2007), J. Amer. Statist. Assoc. 102. For normals: Grimit, Gneiting, Berrocal
and Johnson (2006), Q. J. R. Meteorol. Soc. 132.
"""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
from scipy import special

from calibrant.forecasts.base import Floats, Forecast
from calibrant.forecasts.laplace import Laplace
from calibrant.forecasts.normal import Normal

_SQRT_2 = np.sqrt(2.0)
_SQRT_2_OVER_PI = np.sqrt(2.0 / np.pi)


def to_outcome(forecast: Normal | Laplace, y: Floats) -> Floats:
    """E|X - y| of each row."""
    if isinstance(forecast, Normal):
        return _normal(np.abs(forecast.mu - y), forecast.sigma)
    distance = np.abs(forecast.loc - y)
    return np.asarray(distance + forecast.scale * np.exp(-distance / forecast.scale))


def between(first: Normal | Laplace, second: Normal | Laplace) -> Floats:
    """E|X - X'| of each row, for independent X and X'."""
    if isinstance(first, Laplace):
        if isinstance(second, Laplace):
            return _two_laplaces(first, second)
        return _normal_and_laplace(second, first)
    if isinstance(second, Laplace):
        return _normal_and_laplace(first, second)
    distance = np.abs(first.mu - second.mu)
    return _normal(distance, np.hypot(first.sigma, second.sigma))


def are_known(components: tuple[Forecast, ...]) -> TypeGuard[tuple[Normal | Laplace, ...]]:
    """Whether the distances of all of these have a closed form here."""
    return all(type(component) in (Normal, Laplace) for component in components)


def _normal(distance: Floats, sigma: Floats) -> Floats:
    """E|X| for X normal with a mean of absolute value `distance`."""
    z = distance / sigma
    density = _SQRT_2_OVER_PI * np.exp(-0.5 * z**2)
    return np.asarray(distance * special.erf(z / _SQRT_2) + sigma * density)


def _two_laplaces(first: Laplace, second: Laplace) -> Floats:
    r"""With d = |loc - loc'| and scales b <= c:

    .. math:: d + (c^3 e^{-d/c} - b^3 e^{-d/b}) / (c^2 - b^2)

    The quotient is taken apart into positive terms, so that close or equal scales are no case of
    their own.
    """
    d = np.abs(first.loc - second.loc)
    b, c = np.minimum(first.scale, second.scale), np.maximum(first.scale, second.scale)
    narrow = (c + b * (b / (b + c))) * np.exp(-d / b)
    wide = c * (c / (b + c)) * (d / b) * np.exp(-d / c) * special.exprel(d / c - d / b)
    return np.asarray(d + narrow + wide)


def _normal_and_laplace(normal: Normal, laplace: Laplace) -> Floats:
    r"""E|X| + b E exp(-|X| / b) for X normal with mean d = |mu - loc| and this sigma.

    With z = d / sigma and r = sigma / b the second expectation is

    .. math:: e^{r^2/2} (e^{-rz} \Phi(z - r) + e^{rz} \Phi(-z - r))

    Lower tails of the normal are scaled by their decay, which cancels the growing factors.
    """
    d = np.abs(normal.mu - laplace.loc)
    z, r = d / normal.sigma, normal.sigma / laplace.scale
    density = 0.5 * np.exp(-0.5 * z**2)
    far_side = density * special.erfcx((r + z) / _SQRT_2)
    near_side = np.where(
        r >= z,
        density * special.erfcx(np.maximum(r - z, 0.0) / _SQRT_2),
        np.exp(r * np.minimum(0.5 * r - z, 0.0)) * special.ndtr(z - r),
    )
    return np.asarray(_normal(d, normal.sigma) + laplace.scale * (near_side + far_side))
