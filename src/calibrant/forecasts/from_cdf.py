"""Forecasts that know little more than the CDF of somebody else's objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant import frames
from calibrant.forecasts import root_finding
from calibrant.forecasts.base import Floats, Forecast

Rows = NDArray[np.intp]

_MAX_VALUES = 1_000_000  # evaluated at a time
_GROWTH = (8.0, 8.0, 1e2, 1e4, 1e8, 1e16, 1e32, 1e64, 1e128)
_ROUNDING = 1e-6  # of float32, beyond which a value outside of [0, 1] is an error


@dataclass(frozen=True)
class Source:
    """Somebody else's object, as functions of points (m, n) for all of its n rows.

    Where `ppf` is missing it is found numerically. `mass` is the probability of single points;
    without it there are none. `take` gives the source of some rows; without it all rows are
    evaluated even where some are asked for.
    """

    name: str
    n: int
    cdf: Callable[[Floats], Any]
    ppf: Callable[[Floats], Any] | None = None
    logpdf: Callable[[Floats], Any] | None = None
    mass: Callable[[Floats], Any] | None = None
    mean: Callable[[], Any] | None = None
    std: Callable[[], Any] | None = None
    take: Callable[[Rows], Source] | None = None

    def probabilities(self, points: Floats) -> Floats:
        cdf = np.asarray(self.cdf(points), dtype=np.float64)
        if cdf.shape != points.shape:
            raise ValueError(
                f"cdf of {self.name} gave shape {cdf.shape} for points of shape {points.shape}: "
                "it must broadcast as those of scipy.stats do, rows last."
            )
        outside = ~((cdf >= -_ROUNDING) & (cdf <= 1.0 + _ROUNDING))
        if outside.any():
            m, row = np.unravel_index(int(outside.argmax()), cdf.shape)
            raise ValueError(
                f"cdf of {self.name} is {float(cdf[m, row])!r} at {float(points[m, row])!r} in row "
                f"{row}, not a probability: correct it or drop the row."
            )
        return np.clip(cdf, 0.0, 1.0)

    def quantiles(self, p: Floats) -> Floats:
        if self.ppf is None:
            return self._sought(p)
        y = np.asarray(self.ppf(p), dtype=np.float64)
        lost = ~np.isfinite(y) & (p > 0.0) & (p < 1.0)
        return np.where(lost, self._sought(p), y) if lost.any() else y

    def _sought(self, p: Floats) -> Floats:
        inner = np.where((p > 0.0) & (p < 1.0), p, 0.5)
        low = self._end(-1.0, lambda cdf: cdf >= inner, p.shape)
        high = self._end(1.0, lambda cdf: cdf < inner, p.shape)
        # A CDF in float32 may never come as near to one as the level is.
        level = np.where(inner == p, np.minimum(p, self.probabilities(high)), p)
        low, high = np.where(p == 0.0, -np.inf, low), np.where(p == 1.0, np.inf, high)
        return root_finding.invert(self.probabilities, level, low, high)

    def _end(
        self, start: float, too_near: Callable[[Floats], NDArray[np.bool_]], shape: tuple[int, ...]
    ) -> Floats:
        """An end of a bracket, moved outwards faster and faster until it is far enough."""
        end = np.full(shape, start)
        for factor in _GROWTH:
            move = too_near(self.probabilities(end))
            if not move.any():
                break
            end = np.where(move, factor * end, end)
        return end


class FromCDF(Forecast):
    """Rows of one or more sources; `as_forecast` and the adapters make it.

    `mean`, `std` and `crps` are integrated numerically unless a source has the first two. Where
    a source cannot pick rows, an integral takes O(n) for each block of some thousand rows.
    """

    def __init__(
        self, sources: Sequence[Source], which: Rows | None = None, rows: Rows | None = None
    ) -> None:
        if which is None or rows is None:
            which = np.repeat(np.arange(len(sources)), [source.n for source in sources])
            rows = np.concatenate([np.arange(source.n) for source in sources])
        self._sources, self._which, self._rows = tuple(sources), which, rows

    def __len__(self) -> int:
        return len(self._rows)

    # ------------------------------------------------------------------ distribution

    def cdf(self, y: Any) -> Floats:
        return self._evaluated(Source.probabilities, self._points(y))

    def cdf_left(self, y: Any) -> Floats:
        points = self._points(y)
        cdf = self._evaluated(Source.probabilities, points)
        if all(source.mass is None for source in self._sources):
            return cdf
        return np.maximum(cdf - self._evaluated(_mass, points), 0.0)

    def ppf(self, p: Any) -> Floats:
        return self._evaluated(Source.quantiles, self._levels(p))

    def logpdf(self, y: Any) -> Floats:
        if any(source.logpdf is None for source in self._sources):
            return super().logpdf(y)
        return self._evaluated(_logpdf, self._points(y))

    def mean(self) -> Floats:
        known = self._known([source.mean for source in self._sources])
        return super().mean() if known is None else known

    def std(self) -> Floats:
        known = self._known([source.std for source in self._sources])
        return super().std() if known is None else known

    def _evaluated(self, function: Callable[[Source, Floats], Floats], values: Floats) -> Floats:
        """A function of points, evaluated source by source."""
        n = len(self)
        shape = np.broadcast_shapes(values.shape, (n,))
        values = np.broadcast_to(values, shape).reshape(-1, n)
        out = np.empty(values.shape)
        for number, source in enumerate(self._sources):
            columns = np.flatnonzero(self._which == number)
            rows = self._rows[columns]
            size = max(1, _MAX_VALUES // source.n)
            for start in range(0, len(values) if len(rows) else 0, size):
                block = slice(start, start + size)
                out[block, columns] = _at_rows(function, source, values[block, columns], rows)
        return out.reshape(shape)

    def _known(self, functions: Sequence[Callable[[], Any] | None]) -> Floats | None:
        """Numbers (n,) that every source brings, None if one does not."""
        values = np.empty(len(self))
        for number, (source, function) in enumerate(zip(self._sources, functions, strict=True)):
            if function is None:
                return None
            of_source = np.broadcast_to(np.asarray(function(), dtype=np.float64), (source.n,))
            mine = self._which == number
            values[mine] = of_source[self._rows[mine]]
        return values

    # ------------------------------------------------------------------ rows and frames

    def __getitem__(self, rows: Any) -> Self:
        which = np.atleast_1d(self._which[rows])
        picked = np.array(self._rows[rows], ndmin=1)
        if len(picked) == 0:
            raise ValueError("no row was picked: at least one is needed.")
        sources = list(self._sources)
        for number, source in enumerate(sources):
            mine = np.flatnonzero(which == number)
            if source.take is not None and len(mine):
                sources[number] = source.take(picked[mine])
                picked[mine] = np.arange(len(mine))
        return type(self)(sources, which, picked)

    @classmethod
    def _concatenated(cls, parts: Sequence[Self]) -> Self:
        sources = [source for part in parts for source in part._sources]
        offsets = np.cumsum([0, *(len(part._sources) for part in parts)])
        which = [part._which + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
        return cls(sources, np.concatenate(which), np.concatenate([part._rows for part in parts]))

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame with a row for each forecast and a column for each of `parameters`."""
        return frames.from_columns(self.parameters(), backend)

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        raise ValueError(
            "these forecasts cannot be read from a data frame: only their cdf is known."
        )


def _mass(source: Source, points: Floats) -> Floats:
    return np.zeros(points.shape) if source.mass is None else np.asarray(source.mass(points))


def _logpdf(source: Source, points: Floats) -> Floats:
    assert source.logpdf is not None
    return np.asarray(source.logpdf(points), dtype=np.float64)


def _at_rows(
    function: Callable[[Source, Floats], Floats], source: Source, values: Floats, rows: Rows
) -> Floats:
    """The function at points (m, k) of some rows (k,), by points (m, n) of all rows."""
    if np.array_equal(rows, np.arange(source.n)):
        return function(source, np.ascontiguousarray(values))
    # A row picked r times needs r sets of points; those of other rows do not matter.
    order = np.argsort(rows, kind="stable")
    in_order = rows[order]
    repeat = np.empty(len(rows), dtype=np.intp)
    repeat[order] = np.arange(len(rows)) - np.searchsorted(in_order, in_order)
    everywhere = np.full((repeat.max() + 1, len(values), source.n), 0.5)
    everywhere[repeat, :, rows] = values.T
    result = function(source, everywhere.reshape(-1, source.n)).reshape(everywhere.shape)
    return np.asarray(result[repeat, :, rows].T)
