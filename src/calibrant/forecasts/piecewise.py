"""Predictive distributions whose CDF is linear between points of each row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant import frames
from calibrant.containers import column_names
from calibrant.forecasts.base import Floats, Forecast
from calibrant.inputs import as_real_array


class PiecewiseLinear(Forecast):
    """A CDF through points of each row, linear between them, with exponential tails outside.

    A subclass calls `_set_curve`. Points of equal x are a point mass, and so is the mass outside
    the points where the scale of the tail is zero.
    """

    def _set_curve(self, x: Floats, level: Floats, low: Floats, high: Floats) -> None:
        """Points `x` with their `level`, both (n, K), and the scales of the tails, both (n,)."""
        shape = np.broadcast_shapes(x.shape, level.shape)
        self._x, self._level = np.broadcast_to(x, shape), np.broadcast_to(level, shape)
        self._low, self._high = low, high

    # ------------------------------------------------------------------ look-ups

    def cdf(self, y: Any) -> Floats:
        return self._cdf(self._points(y), below=False)

    def cdf_left(self, y: Any) -> Floats:
        return self._cdf(self._points(y), below=True)

    def _cdf(self, points: Floats, *, below: bool) -> Floats:
        from calibrant.kernels import curves

        return look_up(curves.cdf, self._curve(), points, below)

    def ppf(self, p: Any) -> Floats:
        from calibrant.kernels import curves

        return look_up(curves.ppf, self._curve(), self._levels(p))

    def logpdf(self, y: Any) -> Floats:
        from calibrant.kernels import curves

        points = self._points(y)
        self._check_density()
        return look_up(curves.log_density, self._curve(), points)

    @abstractmethod
    def _check_density(self) -> None:
        """Raise where a row has a point mass."""

    def _curve(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self._x, self._level, self._low, self._high

    # ------------------------------------------------------------------ closed forms

    def mean(self) -> Floats:
        r"""Expected outcomes (n,): with q, p the points and s the scales of the tails,

        .. math:: \sum_k (p_{k+1} - p_k) (q_k + q_{k+1}) / 2
                  + p_1 (q_1 - s_1) + (1 - p_K) (q_K + s_K)
        """
        x, level = self._x, self._level
        inner = np.diff(level) * (0.5 * x[:, :-1] + 0.5 * x[:, 1:])
        below = level[:, 0] * (x[:, 0] - self._low)
        above = (1.0 - level[:, -1]) * (x[:, -1] + self._high)
        return np.asarray(inner.sum(axis=1) + below + above)

    def std(self) -> Floats:
        """Standard deviations (n,): each piece is uniform, each tail exponential."""
        centred = self._x - self.mean()[:, None]
        level = self._level
        middle = 0.5 * (centred[:, :-1] + centred[:, 1:])
        inner = np.diff(level) * (middle**2 + np.diff(centred) ** 2 / 12.0)
        below = level[:, 0] * ((centred[:, 0] - self._low) ** 2 + self._low**2)
        above = (1.0 - level[:, -1]) * ((centred[:, -1] + self._high) ** 2 + self._high**2)
        return np.asarray(np.sqrt(inner.sum(axis=1) + below + above))

    def crps(self, y: Any) -> Floats:
        r"""Continuous ranked probability score of each row, in the unit of the outcome; 0 is best.

        .. math:: \int (F(t) - 1[y \le t])^2 dt

        Exact: where F rises from a to b over a length w, the integral of F^2 is
        w (a^2 + a b + b^2) / 3. Time is O(n K) for K points a row.

        Gneiting and Raftery (2007), J. Amer. Statist. Assoc. 102.
        """
        from calibrant.kernels import curves

        scores = np.empty(len(self))
        curves.score(*self._curve(), self._outcomes(y), scores)
        return scores


def look_up(
    function: Callable[..., None], row_arrays: tuple[Floats, ...], points: Floats, *options: bool
) -> Floats:
    """What a kernel finds in its arrays of n rows at points that broadcast against (n,)."""
    n = len(row_arrays[0])
    shape = np.broadcast_shapes(points.shape, (n,))
    out = np.empty(shape)
    flat = np.broadcast_to(points, shape).reshape(-1, n)
    function(*row_arrays, flat, *options, out.reshape(-1, n))
    return out


def rows_kept(rows: Any, n: int) -> Any:
    """The numbers of the rows that an index (a slice, row numbers, a mask, one number) picks."""
    return np.atleast_1d(np.arange(n)[rows])


def as_table(
    values: Any, name: str, column: str, n_columns: int | None = None, **limits: float
) -> Floats:
    """Numbers (n, K), a row for each forecast, with so many columns where that is known."""
    array = np.asarray(as_real_array(values, name, **limits), dtype=np.float64)
    if array.ndim == 2 and len(array) == 0:
        raise ValueError(f"{name} is empty: at least one row is needed.")
    if array.ndim == 2 and array.shape[1] > 0 and n_columns in (None, array.shape[1]):
        return array
    hint = f" For a single forecast pass {name}[None, :]." if array.ndim == 1 else ""
    raise ValueError(
        f"{name} has shape {array.shape}: it must be (n, {n_columns or 'm'}), a row for each "
        f"forecast and a column for each {column}.{hint}"
    )


def check_ascending(array: Floats, name: str, remedy: str) -> None:
    """Strictly ascending numbers."""
    bad = array[1:] <= array[:-1]
    if bad.any():
        k = int(bad.argmax()) + 1
        raise ValueError(
            f"{name} must be strictly ascending, but {name}[{k}] is {float(array[k])!r} after "
            f"{float(array[k - 1])!r}: {remedy}."
        )


def names_of_columns(frame: Any) -> tuple[str, ...]:
    """The columns of a data frame; an error that says so for anything else."""
    frames.read_columns(frame, ())
    return column_names(frame) or ()


def numbered_columns(frame: Any, prefix: str) -> dict[str, float]:
    """The columns of a data frame named by a prefix and a number, with the number."""
    numbers = {}
    for name in names_of_columns(frame):
        if name.startswith(prefix):
            try:
                numbers[name] = float(name.removeprefix(prefix))
            except ValueError:
                continue
    if not numbers:
        raise ValueError(
            f"frame has no columns named {prefix} and a number, such as {prefix}0.5: say which "
            "columns to read with columns={name: number}."
        )
    return numbers


def count_rows(found: Any) -> str:
    """How many rows of a mask have something."""
    rows = int(found.any(axis=1).sum())
    return f"{rows} row{'s' if rows != 1 else ''}"
