"""Forecasts composed with maps of [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from calibrant.forecasts import quadrature
from calibrant.forecasts.base import Floats, Forecast, check_probabilities
from calibrant.forecasts.concatenation import concatenate
from calibrant.forecasts.ensemble import Ensemble
from calibrant.recalibration.derived import Derived
from calibrant.recalibration.maps import Codes, MonotoneMaps

_MAX_KNOTS = 2000


class Recalibrated(Derived):
    r"""A forecast whose CDF went through one or more layers of maps of [0, 1].

    .. math:: F_{new}(y) = R_T(\dots R_1(F(y)))

    where each layer has several maps R and every row its own among them. Made by the `transform`
    of a recalibration. Nothing is tabulated: any outcome can be asked, at the cost of one look-up
    a layer on top of the original forecast's. Quantiles go through the inverse maps.

    `mean`, `std` and `crps` are exact up to rounding for ensembles. For other forecasts they are
    integrated numerically: with panels that end at the maps' knots as long as a row has at most
    2,000 of them (rounding is then all that is left). Otherwise some 120 panels a row are used,
    which gives about four digits for a row, and more for a mean over rows. What lies beyond the
    quantiles of 1e-16 and 1 - 1e-16 is left out, which matters for moments of very heavy tails.

    Attributes
    ----------
    base : Forecast
        The original forecast, n rows.
    codes : ndarray of shape (n, T)
        Which map each row takes in each layer.
    layers : tuple of T MonotoneMaps
        The maps.
    """

    _row_fields = ("base", "codes")
    _shared_fields = ("layers",)

    def __init__(self, base: Forecast, codes: Codes, layers: tuple[MonotoneMaps, ...]) -> None:
        self.base, self.codes, self.layers = base, codes, layers

    def cdf(self, y: Any) -> Floats:
        return self._forward(check_probabilities(self.base.cdf(y)))

    def cdf_left(self, y: Any) -> Floats:
        return self._forward(check_probabilities(self.base.cdf_left(y)))

    def ppf(self, p: Any) -> Floats:
        levels = self._levels(p)
        shape = np.broadcast_shapes(levels.shape, (len(self),))
        levels = np.array(np.broadcast_to(levels, shape))
        return self._base_quantiles(self._backward(levels), levels)

    def logpdf(self, y: Any) -> Floats:
        density = self.base.logpdf(y)
        u = check_probabilities(self.base.cdf(y))
        with np.errstate(divide="ignore"):
            for maps, codes in self._steps():
                density = density + np.log(maps.slopes(u, codes))
                u = maps(u, codes)
        return density

    def mean(self) -> Floats:
        return super().mean() if self._as_ensemble is None else self._as_ensemble.mean()

    def std(self) -> Floats:
        return super().std() if self._as_ensemble is None else self._as_ensemble.std()

    def crps(self, y: Any) -> Floats:
        return super().crps(y) if self._as_ensemble is None else self._as_ensemble.crps(y)

    @classmethod
    def _concatenated(cls, parts: Sequence[Self]) -> Self:
        if any(part.layers is not parts[0].layers for part in parts):
            raise ValueError(
                "forecasts that were recalibrated differently cannot be concatenated: concatenate "
                "the originals and transform them."
            )
        codes = np.concatenate([part.codes for part in parts])
        return cls(concatenate([part.base for part in parts]), codes, parts[0].layers)

    def _forward(self, u: Floats) -> Floats:
        for maps, codes in self._steps():
            u = maps(u, codes)
        return u

    def _backward(self, u: Floats) -> Floats:
        for maps, codes in self._steps()[::-1]:
            u = maps.inverse(u, codes)
        return u

    def _steps(self) -> list[tuple[MonotoneMaps, Codes]]:
        return list(zip(self.layers, np.ascontiguousarray(self.codes.T), strict=True))

    @cached_property
    def _as_ensemble(self) -> Ensemble | None:
        """The same step CDFs as weighted members, where the original is an ensemble."""
        if not isinstance(self.base, Ensemble):
            return None
        members, weights = self.base.members, self.base.weights
        if weights is None:
            m = members.shape[1]
            reached = np.broadcast_to((np.arange(1, m + 1) / m)[:, None], members.T.shape)
        else:
            reached = np.minimum(np.cumsum(weights.T, axis=0), 1.0)
        steps = self._forward(np.array(reached))
        steps[-1] = 1.0
        return Ensemble(members, np.diff(steps.T, axis=1, prepend=0.0))

    def _panel_edges(self) -> Floats:
        edges = self.base._panel_edges()
        knots = self._knots()
        if knots is None:
            return edges
        return np.sort(np.concatenate([edges, self.base.ppf(knots)]), axis=0)

    def _knots(self) -> Floats | None:
        """Levels (k, n) of the original at which a map bends; None if there are too many."""
        sizes = [max(len(knots.x) for knots in maps.knots) for maps in self.layers]
        if sum(sizes) > _MAX_KNOTS:
            return None
        levels = [np.empty((0, len(self)))]
        for number, (maps, size) in enumerate(zip(self.layers, sizes, strict=True)):
            padded = np.array([np.pad(k.x, (0, size - len(k.x)), "edge") for k in maps.knots])
            u = np.ascontiguousarray(padded[self.codes[:, number]].T)
            before = Recalibrated(self.base, self.codes[:, :number], self.layers[:number])
            levels.append(before._backward(u))
        return np.clip(np.concatenate(levels), quadrature.LEVELS[0], quadrature.LEVELS[-1])
