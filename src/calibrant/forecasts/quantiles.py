"""Predictive distributions given by some of their quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from calibrant import frames
from calibrant.forecasts.base import Floats
from calibrant.forecasts.piecewise import (
    PiecewiseLinear,
    as_table,
    check_ascending,
    count_rows,
    numbered_columns,
)
from calibrant.inputs import as_real_array

_SMALLEST_LEVEL = 1e-16


class Quantiles(PiecewiseLinear):
    r"""A distribution for each row from its quantiles q at levels p.

    The CDF is linear between the quantiles. Outside of them it has exponential tails that carry on
    the density found between the outermost two quantiles, so that the density is continuous there:

    .. math::
        F(t) = p_1 \exp((t - q_1) / s_1), \quad t < q_1, \qquad
        s_1 = p_1 (q_2 - q_1) / (p_2 - p_1)

        1 - F(t) = (1 - p_L) \exp(-(t - q_L) / s_L), \quad t > q_L, \qquad
        s_L = (1 - p_L) (q_L - q_{L-1}) / (p_L - p_{L-1})

    Equal quantiles at several levels are a point mass. If they are the outermost two, the tail
    collapses into it: nothing lies outside, as below the zeros of a forecast of counts.

    Parameters
    ----------
    levels : array-like of shape (L,)
        Levels, strictly ascending within (0, 1), at least two.
    values : array-like of shape (n, L)
        Quantiles at these levels, a row for each forecast, in the unit of the outcome.
    sort : bool, default False
        Sort the values of each row, where quantiles cross (Chernozhukov, Fernandez-Val and
        Galichon (2010), Econometrica 78).

    Raises
    ------
    ValueError
        If levels are not as above, a value is not finite, shapes do not line up, or quantiles
        cross and `sort` is not set.

    Notes
    -----
    `cdf` and `ppf` take O(log L) for a point of a row; `mean`, `std` and `crps` are closed forms
    in O(L) for a row. The mean and the standard deviation depend on the tails, which the outermost
    quantiles only suggest.

    Examples
    --------
    >>> from calibrant.forecasts import Quantiles
    >>> forecast = Quantiles([0.1, 0.5, 0.9], [[0.0, 1.0, 3.0], [0.0, 0.0, 2.0]])
    >>> forecast.cdf(0.0)
    array([0.1, 0.5])
    >>> forecast.ppf(0.7)
    array([2., 1.])
    >>> forecast.crps([1.0, 1.0]).round(4)
    array([0.3137, 0.4092])
    """

    _row_fields = ("values",)
    _shared_fields = ("levels",)

    def __init__(self, levels: Any, values: Any, *, sort: bool = False) -> None:
        self.levels = _as_levels(levels)
        self.values = as_table(values, "values", "level", len(self.levels))
        if sort:
            self.values = np.sort(self.values, axis=1)
        else:
            self._check_crossing()
        p, q = self.levels, self.values
        low = p[0] * (q[:, 1] - q[:, 0]) / (p[1] - p[0])
        high = (1.0 - p[-1]) * (q[:, -1] - q[:, -2]) / (p[-1] - p[-2])
        self._set_curve(q, p, low, high)

    def _check_crossing(self) -> None:
        crossing = self.values[:, 1:] < self.values[:, :-1]
        if crossing.any():
            row, k = np.unravel_index(int(crossing.argmax()), crossing.shape)
            (p, above), (q, r) = self.levels[k : k + 2], self.values[row, k : k + 2]
            raise ValueError(
                f"values[{row}] falls from {float(q)!r} at level {float(p)!r} to {float(r)!r} at "
                f"level {float(above)!r} ({count_rows(crossing)} cross): quantiles must ascend "
                "with the level. Set sort=True to sort the values of each row."
            )

    def _check_density(self) -> None:
        equal = self.values[:, 1:] == self.values[:, :-1]
        if equal.any():
            row, k = np.unravel_index(int(equal.argmax()), equal.shape)
            (p, above), q = self.levels[k : k + 2], self.values[row, k]
            raise ValueError(
                f"values[{row}] is {float(q)!r} at the levels {float(p)!r} and {float(above)!r}, a "
                f"point mass ({count_rows(equal)} have one), and has no density there: use crps in "
                "place of a log score."
            )

    def _panel_edges(self) -> Floats:
        p, q = self.levels, self.values.T
        below = _log_steps(p[0])[::-1, None] * -self._low
        above = _log_steps(1.0 - p[-1])[:, None] * self._high
        return np.concatenate([q[0] + below, q, q[-1] + above])

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame with a column of values for each level, named q and the level: q0.1."""
        names = (f"q{float(p)!r}" for p in self.levels)
        return frames.from_columns(dict(zip(names, self.values.T, strict=True)), backend)

    @classmethod
    def from_frame(cls, frame: Any, columns: Mapping[str, float] | None = None) -> Self:
        """The forecasts whose quantiles are columns of a data frame.

        Parameters
        ----------
        frame : data frame
            Of pandas, Polars or PyArrow, a row for each forecast.
        columns : mapping of str to float, optional
            Level of each column that holds quantiles, in any order. By default the columns that
            `to_frame` writes: q and the level, such as q0.1.
        """
        if columns is None:
            columns = numbered_columns(frame, "q")
        names = sorted(columns, key=columns.__getitem__)
        read = frames.read_columns(frame, names)
        return cls([columns[name] for name in names], np.column_stack([read[k] for k in names]))


def _as_levels(levels: Any) -> Floats:
    array = np.asarray(as_real_array(levels, "levels"), dtype=np.float64)
    if array.ndim != 1 or len(array) < 2:
        raise ValueError(
            f"levels has shape {array.shape}: it must hold at least two levels, shape (L,)."
        )
    outside = (array <= 0.0) | (array >= 1.0)
    if outside.any():
        k = int(outside.argmax())
        raise ValueError(
            f"levels[{k}] is {float(array[k])!r}, not within (0, 1): divide percentages by 100; "
            "leave levels 0 and 1 out."
        )
    check_ascending(array, "levels", "sort them, and the columns of values with them")
    return array


def _log_steps(mass: float) -> Floats:
    """Distances, in scales of a tail, over which its mass falls to 1e-16 by factors of 10^-0.5."""
    n_steps = max(int(np.ceil(2.0 * np.log10(mass / _SMALLEST_LEVEL))), 1)
    return np.asarray(np.arange(1, n_steps + 1) * (0.5 * np.log(10.0)))
