"""SciPy's distributions as forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from calibrant import frames
from calibrant.forecasts import quadrature
from calibrant.forecasts.base import Floats, Forecast, as_points
from calibrant.forecasts.laplace import Laplace
from calibrant.forecasts.log_normal import LogNormal
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.scipy_objects import from_object, is_newer
from calibrant.forecasts.student_t import StudentT

_MAX_STEPS = 100_000  # of a row's CDF for the exact score of a discrete distribution
_MAX_VALUES = 4_000_000  # evaluated at a time


def from_scipy(frozen: Any) -> Forecast:
    """A forecast from a frozen distribution of `scipy.stats`.

    Parameters
    ----------
    frozen : scipy.stats frozen distribution
        Univariate, continuous or discrete, whose parameters are numbers or arrays (n,). SciPy's
        newer objects, such as ``scipy.stats.Normal(mu=mean)``, are taken too.

    Returns
    -------
    Forecast
        With as many rows as the parameters have. Normal, Laplace, t and log-normal distributions
        become calibrant's own, which have closed forms for everything.

    Raises
    ------
    ValueError
        If `frozen` is something else, its parameters do not line up in one dimension, or SciPy
        has no distribution for them.

    Notes
    -----
    A discrete distribution has the log probabilities of the lattice as its `logpdf`, and its
    `crps` is the exact sum over the lattice, in O(w) for w values that are not all but impossible
    (up to 100,000; integrated beyond).

    Examples
    --------
    >>> from scipy import stats
    >>> from calibrant.forecasts import from_scipy
    >>> forecast = from_scipy(stats.gamma([1.0, 2.0], scale=3.0))
    >>> forecast.mean()
    array([3., 6.])
    >>> from_scipy(stats.poisson([1.0, 4.0])).crps([0, 4]).round(4)
    array([0.4762, 0.4526])
    """
    from scipy.stats import rv_continuous, rv_discrete

    if not is_univariate(frozen):
        raise ValueError(
            f"frozen is of type {type(frozen).__name__}: it must be a frozen univariate "
            "distribution of scipy.stats, such as scipy.stats.norm(mean, std)."
        )
    if is_newer(frozen):
        return from_object(frozen)
    if isinstance(frozen, rv_continuous | rv_discrete):
        frozen = _with_defaults(frozen)
    arguments = _as_rows(_arguments(frozen))
    return _own_family(frozen.dist, arguments) or ScipyFrozen(frozen.dist, arguments)


def is_univariate(thing: Any) -> bool:
    """Whether it is one of the distributions that `from_scipy` takes."""
    from scipy.stats import rv_continuous, rv_discrete
    from scipy.stats.distributions import rv_frozen

    return isinstance(thing, rv_frozen | rv_continuous | rv_discrete) or is_newer(thing)


class ScipyFrozen(Forecast):
    """A distribution of `scipy.stats` for each row; `from_scipy` makes it."""

    def __init__(self, distribution: Any, arguments: Mapping[str, Any]) -> None:
        from scipy.stats import rv_discrete

        self._distribution = distribution
        self._arguments = _as_rows(arguments)
        self._discrete = isinstance(distribution, rv_discrete)
        with np.errstate(divide="ignore", invalid="ignore"):
            invalid = np.isnan(self.cdf(0.0))
        if invalid.any():
            row = int(invalid.argmax())
            values = ", ".join(f"{key}={value[row]:g}" for key, value in self._arguments.items())
            raise ValueError(
                f"row {row} has {values}, for which scipy.stats has no {distribution.name} "
                "distribution: correct the parameters or drop the row."
            )

    def __len__(self) -> int:
        return len(next(iter(self._arguments.values())))

    # ------------------------------------------------------------------ distribution

    def cdf(self, y: Any) -> Floats:
        return self._call("cdf", self._points(y))

    def cdf_left(self, y: Any) -> Floats:
        points = self._points(y)
        if not self._discrete:
            return self._call("cdf", points)
        loc = self._arguments.get("loc", 0.0)
        return self._call("cdf", np.ceil(points - loc) - 1.0 + loc)

    def ppf(self, p: Any) -> Floats:
        p = self._levels(p)
        quantiles = self._call("ppf", p)
        if self._discrete:  # SciPy's quantile at 0 is one below the smallest value
            lowest, _ = self._distribution.support(**self._arguments)
            return np.asarray(np.maximum(quantiles, lowest))
        lost = np.isinf(quantiles) & (p > 0.0) & (p < 1.0)
        # Some families round a level to one that is not.
        return np.where(lost, self._call("isf", 1.0 - p), quantiles) if lost.any() else quantiles

    def logpdf(self, y: Any) -> Floats:
        return self._call("logpmf" if self._discrete else "logpdf", self._points(y))

    def mean(self) -> Floats:
        return self._call("mean")

    def std(self) -> Floats:
        return self._call("std")

    def parameters(self) -> dict[str, Floats]:
        return dict(self._arguments)

    def crps(self, y: Any) -> Floats:
        if not self._discrete:
            return super().crps(y)
        y = self._outcomes(y)
        low, high = self.ppf(quadrature.LEVELS[0]), self.ppf(quadrature.LEVELS[-1])
        few = high - low <= _MAX_STEPS
        score = np.empty(len(self))
        if not few.all():
            score[~few] = Forecast.crps(self[~few], y[~few])
        rows = np.flatnonzero(few)
        size = max(1, int(_MAX_VALUES // max(1.0, float(np.max((high - low)[few], initial=0.0)))))
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            score[block] = self[block]._crps_of_steps(y[block], low[block], high[block])
        return score

    def _crps_of_steps(self, y: Floats, low: Floats, high: Floats) -> Floats:
        """Sum over the steps between `low` and `high`; the CDF is 0 and 1 outside of them."""
        inner = np.clip(y, low, high)
        left = low + np.arange(np.max(high - low))[:, None]
        cdf = self.cdf(left)
        before = np.clip(inner - left, 0.0, 1.0)
        steps = before * cdf**2 + (1.0 - before) * (1.0 - cdf) ** 2
        return np.asarray(np.sum(steps, axis=0, where=left < high) + np.abs(y - inner))

    def _call(self, method: str, *values: Floats) -> Floats:
        result = getattr(self._distribution, method)(*values, **self._arguments)
        shape = np.broadcast_shapes(np.shape(result), (len(self),))
        return np.array(np.broadcast_to(result, shape), dtype=np.float64)

    # ------------------------------------------------------------------ rows and frames

    def __getitem__(self, rows: Any) -> Self:
        picked = {name: np.atleast_1d(array[rows]) for name, array in self._arguments.items()}
        return type(self)(self._distribution, picked)

    @classmethod
    def _concatenated(cls, parts: Sequence[Self]) -> Self:
        first = parts[0]
        for part in parts[1:]:
            if not _same_family(part._distribution, first._distribution) or (
                part._arguments.keys() != first._arguments.keys()
            ):
                raise ValueError(
                    "frozen distributions of different families or parameters cannot be "
                    "concatenated."
                )
        arguments = {
            name: np.concatenate([part._arguments[name] for part in parts])
            for name in first._arguments
        }
        return cls(first._distribution, arguments)

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame with a row for each forecast and a column for each of `parameters`."""
        return frames.from_columns(self.parameters(), backend)

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        raise ValueError(
            "a data frame does not say which distribution it is of: pass its columns to one of "
            "scipy.stats, and that to from_scipy."
        )


def _with_defaults(family: Any) -> Any:
    """A family whose parameters all have a default, frozen with those."""
    try:
        return family()
    except TypeError as error:
        raise ValueError(
            f"frozen is the family {family.name} of scipy.stats without its parameters: pass "
            f"{family.name}({family.shapes}), frozen."
        ) from error


def _arguments(frozen: Any) -> dict[str, Any]:
    """The parameters that a distribution was frozen with, by name."""
    shapes = frozen.dist.shapes
    names = [*(shapes.replace(" ", "").split(",") if shapes else []), "loc", "scale"]
    return {**dict(zip(names, frozen.args, strict=False)), **frozen.kwds} or {"loc": 0.0}


def _as_rows(arguments: Mapping[str, Any]) -> dict[str, Floats]:
    """Parameters (n,); unlike those of other forecasts some may be infinite."""
    arrays = {name: as_points(value, name) for name, value in arguments.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    sizes = {shape[0] for shape in shapes.values() if len(shape) == 1} - {1}
    if max(map(len, shapes.values())) > 1 or len(sizes) > 1 or 0 in sizes:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(
            f"parameters have the shapes {listed}: each must be a number or hold one for each of "
            "the same n rows, shape (n,)."
        )
    n = next(iter(sizes), 1)
    return {name: np.broadcast_to(array, (n,)) for name, array in arrays.items()}


def _own_family(distribution: Any, arguments: dict[str, Floats]) -> Forecast | None:
    from scipy import stats

    kind = type(distribution)
    rows = _as_rows({"loc": 0.0, "scale": 1.0} | arguments)
    if kind is type(stats.norm):
        return Normal(rows["loc"], rows["scale"])
    if kind is type(stats.laplace):
        return Laplace(rows["loc"], rows["scale"])
    if kind is type(stats.t):
        return StudentT(rows["df"], rows["loc"], rows["scale"])
    if kind is type(stats.lognorm) and not rows["loc"].any() and (rows["scale"] > 0.0).all():
        return LogNormal(np.log(rows["scale"]), rows["s"])
    return None


def _same_family(first: Any, second: Any) -> bool:
    """Two of SciPy's named families; distributions made from data must be the same object."""
    from scipy import stats

    if first is second:
        return True
    return type(first) is type(second) and hasattr(stats, first.name)
