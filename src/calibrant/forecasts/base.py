"""What every forecast can do: a base class that does most of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calibrant import frames
from calibrant.arguments import as_generator
from calibrant.containers import to_numpy
from calibrant.inputs import as_real_array

Floats = NDArray[np.float64]


class Forecast(ABC):
    """One predictive distribution for each of n rows.

    Rows are the last axis everywhere: a number is asked of every row, n numbers are asked row by
    row, and points of shape (m, 1) are all asked of every row, which gives (m, n).

    A subclass names its arrays that have a row for each forecast (`_row_fields`, the first axis
    is the row) and those that all rows share (`_shared_fields`); its constructor takes both by
    name. It brings `cdf` and `ppf`, and closed forms where there are any: `mean`, `std` and `crps`
    are integrated numerically otherwise.
    """

    _row_fields: ClassVar[tuple[str, ...]] = ()
    _shared_fields: ClassVar[tuple[str, ...]] = ()

    # ------------------------------------------------------------------ to be provided

    @abstractmethod
    def cdf(self, y: Any) -> Floats:
        """Probability of an outcome of at most `y`.

        Parameters
        ----------
        y : array-like
            A number, (n,) for row by row, or (m, 1) or (m, n) for m points of each row. Infinite
            points are allowed, nan is not.

        Returns
        -------
        numpy.ndarray of shape (n,) or (m, n)
        """

    @abstractmethod
    def ppf(self, p: Any) -> Floats:
        """Quantile: the smallest y whose `cdf` is at least `p`; shapes as for `cdf`."""

    def cdf_left(self, y: Any) -> Floats:
        """Probability of an outcome below `y`: less than `cdf` where there is a point mass."""
        return self.cdf(y)

    def logpdf(self, y: Any) -> Floats:
        """Log of the density at `y`; shapes as for `cdf`."""
        raise ValueError(f"{type(self).__name__} has no density: use crps in place of a log score.")

    def parameters(self) -> dict[str, Floats]:
        """The numbers (n,) that tell one row's distribution from another's, by name."""
        return {"mean": self.mean(), "std": self.std()}

    # ------------------------------------------------------------------ summaries

    def mean(self) -> Floats:
        """Expected outcomes (n,)."""
        from calibrant.forecasts import quadrature

        return quadrature.moments(self)[0]

    def std(self) -> Floats:
        """Standard deviations (n,)."""
        from calibrant.forecasts import quadrature

        return quadrature.moments(self)[1]

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Central prediction intervals: lower and upper ends, (n,) each.

        Raises
        ------
        ValueError
            If `confidence` is not a number in [0, 1].
        """
        if not isinstance(confidence, Real) or not 0.0 <= float(confidence) <= 1.0:
            raise ValueError(f"confidence must be a number in [0, 1], got {confidence!r}.")
        tail = (1.0 - float(confidence)) / 2.0
        return self.ppf(tail), self.ppf(1.0 - tail)

    def rvs(self, size: int | None = None, *, random_state: Any = None) -> Floats:
        """Random outcomes: (n,), or (size, n)."""
        if size is not None and (not isinstance(size, Integral) or size < 0):
            raise ValueError(f"size must be None or a number of draws, got {size!r}.")
        shape = (len(self),) if size is None else (int(size), len(self))
        return self.ppf(as_generator(random_state).random(shape))

    def crps(self, y: Any) -> Floats:
        r"""Continuous ranked probability score of each row, in the unit of the outcome; 0 is best.

        .. math:: \int (F(t) - 1[y \le t])^2 dt

        Gneiting and Raftery (2007), J. Amer. Statist. Assoc. 102.
        """
        from calibrant.forecasts import quadrature

        return quadrature.crps(self, self._outcomes(y))

    # ------------------------------------------------------------------ rows

    def __len__(self) -> int:
        return len(getattr(self, self._row_fields[0]))

    def __getitem__(self, rows: Any) -> Self:
        """The forecasts of some rows: a slice, row numbers, a mask, or one row number."""
        if isinstance(rows, Integral):
            row = range(len(self))[int(rows)]
            rows = slice(row, row + 1)
        picked = {name: getattr(self, name)[rows] for name in self._row_fields}
        return type(self)(**picked, **self._shared())

    @classmethod
    def _concatenated(cls, parts: Sequence[Self]) -> Self:
        first = parts[0]._shared()
        for part in parts[1:]:
            for name, value in part._shared().items():
                if not np.array_equal(value, first[name]):
                    raise ValueError(
                        f"forecasts with different {name} cannot be concatenated: bring them to "
                        "the same first."
                    )
        rows = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in cls._row_fields
        }
        return cls(**rows, **first)

    def _shared(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._shared_fields}

    # ------------------------------------------------------------------ frames

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame with a row for each forecast and a column for each parameter."""
        columns = {name: getattr(self, name) for name in self._row_fields}
        return frames.from_columns(columns, backend)

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        """The forecasts whose parameters are the columns of a data frame with these names."""
        columns = frames.read_columns(frame, cls._row_fields)
        return cls(**columns)

    def __repr__(self) -> str:
        n = len(self)
        rows = f"{n} row{'s' if n != 1 else ''}"
        return f"{type(self).__name__}({rows})"

    def _panel_edges(self) -> Floats:
        """Ascending points (k, n) that cover the outcomes, every kink of the CDF among them."""
        from calibrant.forecasts import quadrature

        return self.ppf(quadrature.LEVELS[:, None])

    # ------------------------------------------------------------------ checks for subclasses

    def _points(self, y: Any, name: str = "y") -> Floats:
        """Points that broadcast against (n,) with the rows last."""
        points = np.asarray(as_points(y, name), dtype=np.float64)
        self._check_last_axis(points, name)
        return points

    def _levels(self, p: Any) -> Floats:
        """Probabilities that broadcast against (n,) with the rows last."""
        levels = np.asarray(as_real_array(p, "p", low=0.0, high=1.0), dtype=np.float64)
        self._check_last_axis(levels, "p")
        return levels

    def _outcomes(self, y: Any) -> Floats:
        """One finite outcome for each row."""
        return as_outcomes(y, len(self))

    def _check_last_axis(self, array: Floats, name: str) -> None:
        n = len(self)
        if array.ndim == 0 or array.shape[-1] == n or (array.ndim > 1 and array.shape[-1] == 1):
            return
        raise ValueError(
            f"{name} has shape {array.shape} for {n} forecasts: the last axis must be the rows. "
            f"For the same points in every row pass {name}[:, None]."
        )


def as_points(y: Any, name: str) -> Floats:
    """Real numbers of any shape; infinite ones are allowed, nan is not."""
    array = to_numpy(y, name)
    if array.dtype.kind not in "biuf":
        array = as_real_array(y, name)
    missing = np.isnan(array)
    if np.any(missing):
        place = np.unravel_index(int(np.argmax(missing)), np.shape(array))
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise ValueError(f"{where} is nan: drop it or fill the value in.")
    return np.asarray(array, dtype=np.float64)


def as_outcomes(y: Any, n: int, name: str = "y") -> Floats:
    """Finite outcomes (n,)."""
    array = np.asarray(as_real_array(y, name), dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(
            f"{name} has shape {array.shape}: it must hold one outcome for each of the {n} "
            f"forecasts, shape ({n},)."
        )
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} outcomes for {n} forecasts: it needs as many.")
    return array


def check_probabilities(cdf: Floats) -> Floats:
    """What a `cdf` gave, if it is within [0, 1] everywhere."""
    if cdf.size and not (cdf.min() >= 0.0 and cdf.max() <= 1.0):
        bad = ~((cdf >= 0.0) & (cdf <= 1.0))
        place = np.unravel_index(int(bad.argmax()), cdf.shape)
        raise ValueError(
            f"the cdf of forecast {int(place[-1])} is {float(cdf[place])!r} somewhere, not a "
            "probability: correct the forecast or drop the row."
        )
    return cdf


def as_parameters(**parameters: Any) -> dict[str, Floats]:
    """Parameters (n,) of n rows; single numbers are meant for every row."""
    arrays = {
        name: np.asarray(as_real_array(value, name), dtype=np.float64)
        for name, value in parameters.items()
    }
    for name, array in arrays.items():
        if array.ndim > 1:
            raise ValueError(
                f"{name} has shape {array.shape}: it must hold one number for each row, shape (n,)."
            )
    sizes = {name: len(array) for name, array in arrays.items() if array.ndim == 1}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ValueError(f"parameters of different lengths ({listed}): they must be as many.")
    n = next(iter(sizes.values()), 1)
    if n == 0:
        raise ValueError(f"{next(iter(sizes))} is empty: at least one row is needed.")
    return {name: np.broadcast_to(array, (n,)) for name, array in arrays.items()}


def check_positive(values: Floats, name: str) -> None:
    """All values above zero."""
    bad = values <= 0.0
    if bad.any():
        place = np.unravel_index(int(bad.argmax()), values.shape)
        where = ", ".join(str(int(i)) for i in place)
        raise ValueError(
            f"{name}[{where}] is {float(values[place])!r}, not positive: correct it or drop the "
            "row."
        )
