"""Predictive distributions given by the members of an ensemble, or by draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from calibrant import frames
from calibrant.containers import to_numpy
from calibrant.forecasts.base import Floats, Forecast
from calibrant.forecasts.piecewise import as_table, look_up, names_of_columns, rows_kept
from calibrant.inputs import as_real_array

_SUM_TOLERANCE = 1e-6


class Ensemble(Forecast):
    r"""A step distribution for each row: a point mass at each of its m members.

    .. math:: F(t) = \sum_k w_k 1[x_k \le t]

    Parameters
    ----------
    members : array-like of shape (n, m)
        Members or draws, a row for each forecast, in the unit of the outcome and any order.
    weights : array-like of shape (m,) or (n, m), optional
        Weights of the members, the same in every row or for each row: not negative, each row
        summing to one within 1e-6 (probabilities are relative to the exact sum). By default all
        members weigh 1 / m, and F takes the correctly rounded values k / m.

    Attributes
    ----------
    members : numpy.ndarray of shape (n, m)
        Ascending in each row.
    weights : numpy.ndarray of shape (n, m) or None
        In the order of the sorted members; None where all are equal.

    Raises
    ------
    ValueError
        If a member is missing or not finite, a weight is negative, weights of a row do not sum to
        one, or shapes do not line up.

    Notes
    -----
    `cdf` and `ppf` take O(log m) for a point of a row; making the forecast takes O(m log m) for a
    row, after which `mean`, `std` and `crps` are exact in O(m).

    `ppf` takes a level that exceeds a step by rounding only (by (m + 4) eps, relatively) as that
    step, so that levels such as ``0.05 * 3`` find member 3 of 20.

    Examples
    --------
    >>> from calibrant.forecasts import Ensemble
    >>> forecast = Ensemble([[3.0, 1.0, 2.0, 2.0], [0.0, 0.0, 0.0, 8.0]])
    >>> forecast.cdf(2.0)
    array([0.75, 0.75])
    >>> forecast.cdf_left(2.0)
    array([0.25, 0.75])
    >>> forecast.ppf(0.5)
    array([2., 0.])
    >>> forecast.crps([1.0, 1.0])
    array([0.625, 1.  ])
    """

    _row_fields = ("members", "weights")

    def __init__(self, members: Any, weights: Any = None) -> None:
        array = _as_members(members)
        self.members: Floats
        self.weights: Floats | None
        if weights is None:
            self.members, self.weights = np.sort(array, axis=1), None
            heights = np.arange(array.shape[1] + 1) / array.shape[1]
        else:
            order = np.argsort(array, axis=1)
            self.members = np.take_along_axis(array, order, axis=1)
            self.weights = np.take_along_axis(_as_weights(weights, array.shape), order, axis=1)
            heights = np.zeros((len(array), array.shape[1] + 1))
            np.cumsum(self.weights, axis=1, out=heights[:, 1:])
            heights /= heights[:, -1:].copy()
        n, m = array.shape
        # The CDF below the first member, and after each.
        self._heights = np.broadcast_to(heights, (n, m + 1))

    # ------------------------------------------------------------------ look-ups

    def cdf(self, y: Any) -> Floats:
        return self._cdf(self._points(y), below=False)

    def cdf_left(self, y: Any) -> Floats:
        return self._cdf(self._points(y), below=True)

    def _cdf(self, points: Floats, *, below: bool) -> Floats:
        from calibrant.kernels import curves

        return look_up(curves.step, (self.members, self._heights), points, below)

    def ppf(self, p: Any) -> Floats:
        from calibrant.kernels import curves

        rounding = (self.members.shape[1] + 4) * np.finfo(np.float64).eps
        levels = np.maximum(self._levels(p) * (1.0 - rounding), curves.TINY)
        return look_up(curves.step, (self._heights[:, 1:], self.members), levels, True)

    # ------------------------------------------------------------------ closed forms

    def mean(self) -> Floats:
        return self._average(self.members)

    def std(self) -> Floats:
        """Standard deviations (n,) of the members as the whole distribution, not as a sample."""
        return np.sqrt(self._average((self.members - self.mean()[:, None]) ** 2))

    def crps(self, y: Any) -> Floats:
        r"""Continuous ranked probability score of each row, in the unit of the outcome; 0 is best.

        .. math:: \sum_k w_k |x_k - y| - \frac12 \sum_{j,k} w_j w_k |x_j - x_k|

        Exact, without correction for the size of the ensemble: with F at most and below x_k as
        F_k and F_{k-1}, both sums together have the terms w_k |x_k - y| c_k, where c_k is
        F_{k-1} + F_k below y and its complement to 2 above, none of them negative.

        Gneiting and Raftery (2007), J. Amer. Statist. Assoc. 102.
        """
        from calibrant.kernels import curves

        scores = np.empty(len(self))
        curves.step_score(self.members, self._heights, self._outcomes(y), scores)
        return scores

    def _average(self, values: Floats) -> Floats:
        if self.weights is None:
            return np.asarray(values.mean(axis=1))
        return np.asarray((self.weights * values).sum(axis=1) / self.weights.sum(axis=1))

    def _panel_edges(self) -> Floats:
        return self.members.T

    # ------------------------------------------------------------------ rows

    def __getitem__(self, rows: Any) -> Self:
        kept = rows_kept(rows, len(self))
        return type(self)(self.members[kept], None if self.weights is None else self.weights[kept])

    @classmethod
    def _concatenated(cls, parts: Sequence[Self]) -> Self:
        sizes = {part.members.shape[1] for part in parts}
        if len(sizes) > 1:
            listed = " and ".join(map(str, sorted(sizes)))
            raise ValueError(
                f"ensembles of {listed} members cannot be concatenated: fill the smaller up with "
                "members of weight 0."
            )
        members = np.concatenate([part.members for part in parts])
        if all(part.weights is None for part in parts):
            return cls(members)
        return cls(members, np.concatenate([part._all_weights() for part in parts]))

    def _all_weights(self) -> Floats:
        if self.weights is not None:
            return self.weights
        return np.full(self.members.shape, 1.0 / self.members.shape[1])

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame with the columns m0, m1... of sorted members, and w0, w1... of weights."""
        columns = {f"m{k}": column for k, column in enumerate(self.members.T)}
        if self.weights is not None:
            columns |= {f"w{k}": column for k, column in enumerate(self.weights.T)}
        return frames.from_columns(columns, backend)

    @classmethod
    def from_frame(cls, frame: Any, prefix: str = "m") -> Self:
        """The ensembles whose members are columns of a data frame.

        Parameters
        ----------
        frame : data frame
            Of pandas, Polars or PyArrow, a row for each forecast.
        prefix : str, default "m"
            Members are the columns named by this and a whole number. If there are columns w and
            the same numbers, they are the weights.
        """
        names = names_of_columns(frame)
        digits = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
        digits = sorted((rest for rest in digits if rest.isdecimal()), key=int)
        if not digits:
            raise ValueError(
                f"frame has no columns named {prefix!r} and a number: pass the prefix of the "
                f"members' columns; it has {', '.join(names)}."
            )
        members = _read_table(frame, [prefix + rest for rest in digits])
        weight_names = ["w" + rest for rest in digits]
        if prefix == "w" or not set(weight_names) <= set(names):
            return cls(members)
        return cls(members, _read_table(frame, weight_names))


def _read_table(frame: Any, names: Sequence[str]) -> Floats:
    read = frames.read_columns(frame, names)
    return np.column_stack([read[name] for name in names])


def _as_members(members: Any) -> Floats:
    array = to_numpy(members, "members")
    if array.dtype.kind == "f" and array.ndim == 2:
        missing = np.isnan(array)
        if missing.any():
            row, k = np.unravel_index(int(missing.argmax()), array.shape)
            raise ValueError(
                f"members[{row}, {k}] is missing ({int(missing.any(axis=1).sum())} of {len(array)} "
                "rows have missing members): drop the row, or fill the member in with any number "
                "and give it weight 0."
            )
    return as_table(array, "members", "member")


def _as_weights(weights: Any, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(as_real_array(weights, "weights"), dtype=np.float64)
    if array.shape not in (shape, shape[1:]):
        raise ValueError(
            f"weights has shape {array.shape} for members of shape {shape}: it must be "
            f"({shape[1]},) or {shape}."
        )
    if (array < 0.0).any():
        place = np.unravel_index(int((array < 0.0).argmax()), array.shape)
        where = ", ".join(str(int(k)) for k in place)
        raise ValueError(
            f"weights[{where}] is {float(array[place])!r}: weights must not be negative."
        )
    sums = np.atleast_1d(array.sum(axis=-1))
    off = np.abs(sums - 1.0) > _SUM_TOLERANCE
    if off.any():
        row = int(off.argmax())
        where = f"weights[{row}]" if array.ndim == 2 else "weights"
        raise ValueError(
            f"{where} sums to {float(sums[row])!r}, not to one within {_SUM_TOLERANCE:g}: divide "
            "the weights of each row by their sum."
        )
    return np.broadcast_to(array, shape)
