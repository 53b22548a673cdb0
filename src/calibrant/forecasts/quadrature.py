"""Moments and scores of any forecast by Gauss-Legendre quadrature between its own quantiles.

All three are integrals of the CDF F over the outcome, so nothing but `cdf` and `ppf` is needed:

    E Y = c + int_c^inf (1 - F) - int_-inf^c F
    E (Y - c)^2 = 2 int_c^inf (t - c) (1 - F) + 2 int_-inf^c (c - t) F
    CRPS = int_-inf^y F^2 + int_y^inf (1 - F)^2

The panels end at quantiles, so they follow every row's own scale, and at each kink that a forecast
says it has, so that the integrand is smooth within a panel. Tails beyond the quantiles of 1e-16 and
1 - 1e-16 are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from calibrant.forecasts.base import Forecast

Floats = NDArray[np.float64]

_TAIL = 10.0 ** -np.arange(16.0, 1.5, -0.5)
LEVELS = np.concatenate([_TAIL, np.linspace(0.0, 1.0, 65)[1:-1], 1.0 - _TAIL[::-1]])
LEVELS.sort()

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_MAX_VALUES = 4_000_000  # evaluated at a time


def moments(forecast: Forecast) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each row."""
    mean, std = _by_rows(forecast, None, _moments)
    return mean, std


def crps(forecast: Forecast, y: Floats) -> Floats:
    """The score of each row against its outcome."""
    return _by_rows(forecast, y, _crps)[0]


def _moments(forecast: Forecast, edges: Floats, _: Floats | None) -> tuple[Floats, Floats]:
    centre = forecast.ppf(0.5)
    edges = np.sort(np.concatenate([edges, centre[None]]), axis=0)

    def integrands(t: Floats, cdf: Floats) -> tuple[Floats, Floats]:
        beyond = np.where(t < centre, -cdf, 1.0 - cdf)
        return beyond, 2.0 * (t - centre) * beyond

    first, second = _integrate(forecast, edges, integrands)
    return centre + first, np.sqrt(np.maximum(second - first**2, 0.0))


def _crps(forecast: Forecast, edges: Floats, y: Floats | None) -> tuple[Floats]:
    assert y is not None
    edges = np.sort(np.concatenate([edges, y[None]]), axis=0)

    def integrands(t: Floats, cdf: Floats) -> tuple[Floats]:
        return (np.where(t < y, cdf, 1.0 - cdf) ** 2,)

    return (_integrate(forecast, edges, integrands)[0],)


def _integrate(
    forecast: Forecast,
    edges: Floats,
    integrands: Callable[[Floats, Floats], tuple[Floats, ...]],
) -> list[Floats]:
    half = np.diff(edges, axis=0) / 2.0
    middle = edges[:-1] + half
    t = (middle + half * _NODES[:, None, None]).reshape(-1, edges.shape[1])
    weights = (half * _WEIGHTS[:, None, None]).reshape(t.shape)
    return [(weights * value).sum(axis=0) for value in integrands(t, forecast.cdf(t))]


def _by_rows(
    forecast: Forecast,
    y: Floats | None,
    function: Callable[[Forecast, Floats, Floats | None], tuple[Floats, ...]],
) -> tuple[Floats, ...]:
    """Run over blocks of rows, so that memory stays bounded."""
    parts = [
        function(forecast[rows], forecast[rows]._panel_edges(), None if y is None else y[rows])
        for rows in _row_blocks(forecast)
    ]
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


def _row_blocks(forecast: Forecast) -> Iterator[slice]:
    n = len(forecast)
    n_panels = len(forecast[:1]._panel_edges())
    size = max(1, _MAX_VALUES // (len(_NODES) * (n_panels + 2)))
    return (slice(start, start + size) for start in range(0, n, size))
