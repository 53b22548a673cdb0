"""Mixtures of predictive distributions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
from scipy import special

from calibrant import frames
from calibrant.forecasts import distances, root_finding
from calibrant.forecasts.base import Floats, Forecast, as_parameters
from calibrant.forecasts.laplace import Laplace
from calibrant.forecasts.normal import Normal
from calibrant.inputs import as_real_array

WEIGHT_SUM_TOLERANCE = 1e-6
"""How far from one the weights of a row may sum: some roundings of float32."""

_BLOCK = 65_536  # quantiles sought at a time


class Mixture(Forecast):
    r"""A mixture of distributions for each row.

    .. math:: F(y) = \sum_c w_c F_c(y)

    Parameters
    ----------
    weights : array-like of shape (C,) or (n, C)
        Weights of the components in every row, or in each; not negative. A row that sums to one
        but for the rounding of float32 (within 1e-6) is divided by its sum.
    components : sequence of C Forecast
        Distributions with n rows each; one with a single row is meant for every row. A mixture
        among them is taken apart into its own components.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, a row of weights does not sum to one, or numbers of
        components or rows do not line up.

    Notes
    -----
    `cdf`, `logpdf`, `mean` and `std` cost as much as those of the components. `crps` is a closed
    form in O(C^2) for each row when the components are `Normal` and `Laplace`, else integrated.
    `ppf` finds the root between the quantiles of the components, in about ten evaluations of
    `cdf`, and agrees with the exact quantile to a few roundings of `cdf`.

    Examples
    --------
    >>> from calibrant.forecasts import Laplace, Mixture, Normal
    >>> forecast = Mixture([0.25, 0.75], [Normal([0.0, 1.0], 1.0), Laplace(2.0, 1.0)])
    >>> forecast.cdf(1.0).round(4)
    array([0.3483, 0.263 ])
    >>> forecast.ppf(0.5).round(4)
    array([1.6435, 1.7893])
    >>> forecast.crps([0.0, 2.0]).round(4)
    array([0.9274, 0.2898])
    """

    _row_fields = ("weights",)

    def __init__(self, weights: Any, components: Sequence[Forecast]) -> None:
        components = _as_components(components)
        weights = _as_weights(weights, len(components))
        n = _count_rows(weights, components)
        weights = np.broadcast_to(weights, (n, len(components)))
        components = tuple(
            part if len(part) == n else part[np.zeros(n, dtype=np.intp)] for part in components
        )
        self.weights, self.components = _taken_apart(weights, components)

    @classmethod
    def gaussian_laplace(cls, mu: Any, sigma: Any, loc: Any, scale: Any, weight: Any) -> Self:
        """Mixtures of a normal and a Laplace distribution.

        Parameters
        ----------
        mu, sigma : array-like of shape (n,) or float
            Means and standard deviations of the normal components.
        loc, scale : array-like of shape (n,) or float
            Means and scales of the Laplace components.
        weight : array-like of shape (n,) or float
            Weights of the normal components, in [0, 1].

        Raises
        ------
        ValueError
            If a parameter is out of its range or not finite, or shapes do not line up.

        Examples
        --------
        >>> from calibrant.forecasts import Mixture
        >>> Mixture.gaussian_laplace([0.0, 1.0], 1.0, 0.0, 2.0, 0.5).mean()
        array([0. , 0.5])
        """
        parameters = as_parameters(mu=mu, sigma=sigma, loc=loc, scale=scale, weight=weight)
        components = (
            Normal(parameters["mu"], parameters["sigma"]),
            Laplace(parameters["loc"], parameters["scale"]),
        )
        return cls(_two_weights(parameters["weight"]), components)

    # ------------------------------------------------------------------ distribution

    def cdf(self, y: Any) -> Floats:
        points = self._points(y)
        return self._probability(part.cdf(points) for part in self.components)

    def cdf_left(self, y: Any) -> Floats:
        points = self._points(y)
        return self._probability(part.cdf_left(points) for part in self.components)

    def ppf(self, p: Any) -> Floats:
        levels, rows = np.broadcast_arrays(self._levels(p), np.arange(len(self)))
        flat_levels, flat_rows = levels.ravel(), rows.ravel()
        y = np.empty(levels.size)
        for start in range(0, levels.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            y[block] = self[flat_rows[block]]._row_quantiles(flat_levels[block])
        return y.reshape(levels.shape)

    def logpdf(self, y: Any) -> Floats:
        points = self._points(y)
        logs = np.stack([part.logpdf(points) for part in self.components], axis=-1)
        return np.asarray(special.logsumexp(logs, axis=-1, b=self.weights))

    def mean(self) -> Floats:
        return self._expectation(np.stack([part.mean() for part in self.components], axis=1))

    def std(self) -> Floats:
        means = np.stack([part.mean() for part in self.components], axis=1)
        stds = np.stack([part.std() for part in self.components], axis=1)
        with np.errstate(invalid="ignore"):  # components without a mean
            squares = stds**2 + (means - self.mean()[:, None]) ** 2
        return np.sqrt(self._expectation(squares))

    def parameters(self) -> dict[str, Floats]:
        """The parameters of all components and the weight of the first.

        They are numbered by component where components share a name: ``mu0, sigma0, mu1, ...``.
        Three or more components have their weights numbered: ``weight0, weight1, ...``.
        """
        parts = [part.parameters() for part in self.components]
        part_names, weight_names = _column_names([list(part) for part in parts])
        columns: dict[str, Floats] = {}
        for names, part in zip(part_names, parts, strict=True):
            columns.update(zip(names, part.values(), strict=True))
        weights = self.weights.T[: len(weight_names)]
        return columns | dict(zip(weight_names, weights, strict=True))

    def crps(self, y: Any) -> Floats:
        r"""Continuous ranked probability score of each row, in the unit of the outcome; 0 is best.

        .. math:: \sum_i w_i E|X_i - y| - \tfrac12 \sum_{i,j} w_i w_j E|X_i - X_j'|

        This closed form is used for normal and Laplace components, quadrature for others.

        Grimit, Gneiting, Berrocal and Johnson (2006), Q. J. R. Meteorol. Soc. 132.
        """
        parts = self.components
        if not distances.are_known(parts):
            return super().crps(y)
        y = self._outcomes(y)
        score = np.zeros(len(self))
        for i, (weight, part) in enumerate(zip(self.weights.T, parts, strict=True)):
            score += weight * distances.to_outcome(part, y)
            score -= 0.5 * weight**2 * distances.between(part, part)
            for j in range(i):
                pair = distances.between(part, parts[j])
                score -= weight * self.weights[:, j] * pair
        return score

    # ------------------------------------------------------------------ rows and frames

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.weights[rows], [part[rows] for part in self.components])

    @classmethod
    def _concatenated(cls, parts: Sequence[Self]) -> Self:
        kinds = [[type(component) for component in part.components] for part in parts]
        if any(other != kinds[0] for other in kinds):
            raise ValueError("mixtures of different components cannot be concatenated.")
        components = [
            kind._concatenated([part.components[c] for part in parts])
            for c, kind in enumerate(kinds[0])
        ]
        return cls(np.concatenate([part.weights for part in parts]), components)

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame with a row for each forecast and a column for each of `parameters`."""
        return frames.from_columns(self.parameters(), backend)

    @classmethod
    def from_frame(
        cls, frame: Any, components: Sequence[type[Forecast]] = (Normal, Laplace)
    ) -> Self:
        """The mixtures whose `parameters` are the columns of a data frame.

        Parameters
        ----------
        frame : pandas, Polars or PyArrow data frame
            Columns named as by `parameters`.
        components : sequence of classes
            The components' families, in their order.
        """
        fields = [kind._row_fields for kind in components]
        part_names, weight_names = _column_names(fields)
        columns = frames.read_columns(frame, [*chain(*part_names), *weight_names])
        parts = [
            kind(**dict(zip(kind._row_fields, (columns[name] for name in names), strict=True)))
            for kind, names in zip(components, part_names, strict=True)
        ]
        if len(parts) == 1:
            return cls([1.0], parts)
        if len(parts) == 2:
            return cls(_two_weights(columns["weight"]), parts)
        return cls(np.column_stack([columns[name] for name in weight_names]), parts)

    def _panel_edges(self) -> Floats:
        return np.sort(np.concatenate([part._panel_edges() for part in self.components]), axis=0)

    # ------------------------------------------------------------------ sums over components

    def _probability(self, values: Iterable[Floats]) -> Floats:
        """Weighted sum over components, whose rounding does not lift it above one."""
        total: Any = 0.0
        for weight, value in zip(self.weights.T, values, strict=True):
            total += weight * value
        return np.asarray(np.minimum(total, 1.0))

    def _expectation(self, values: Floats) -> Floats:
        """Weighted sum (n,) of values (n, C), which may be infinite where the weight is zero."""
        return np.asarray(np.sum(self.weights * np.where(self.weights > 0.0, values, 0.0), axis=1))

    def _row_quantiles(self, p: Floats) -> Floats:
        """Quantiles for one level of each row."""
        quantiles = np.stack([part.ppf(p) for part in self.components], axis=1)
        used = self.weights > 0.0
        low = np.where(used, quantiles, np.inf).min(axis=1)
        high = np.where(used, quantiles, -np.inf).max(axis=1)
        return root_finding.invert(self.cdf, p, low, high)


def _as_components(components: Any) -> list[Forecast]:
    if isinstance(components, Forecast) or not isinstance(components, Sequence) or not components:
        raise ValueError(
            f"components is {components!r}: it must be a sequence of forecasts, one for each "
            "component of the mixture."
        )
    for position, part in enumerate(components):
        if not isinstance(part, Forecast):
            raise ValueError(
                f"components[{position}] is of type {type(part).__name__}, not a forecast: "
                "bring it to one with as_forecast."
            )
    return list(components)


def _as_weights(weights: Any, n_components: int) -> Floats:
    """Weights (C,) or (n, C) whose rows sum to one."""
    array = np.array(as_real_array(weights, "weights"), dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[-1] != n_components:
        raise ValueError(
            f"weights has shape {array.shape} for {n_components} components: it must be "
            f"({n_components},), or (n, {n_components}) with weights of each row."
        )
    negative = array < 0.0
    if negative.any():
        place = np.unravel_index(int(negative.argmax()), array.shape)
        raise ValueError(
            f"weights[{', '.join(str(int(i)) for i in place)}] is {float(array[place])!r}, "
            "negative: weights must be zero or more."
        )
    sums = array.sum(axis=-1, keepdims=True)
    off = np.abs(sums - 1.0)
    if (off > WEIGHT_SUM_TOLERANCE).any():
        row = int(off.ravel().argmax())
        where = f"weights[{row}] sums" if array.ndim == 2 else "weights sum"
        raise ValueError(
            f"{where} to {sums.ravel()[row]:.9g}, not to one within {WEIGHT_SUM_TOLERANCE:g}: "
            "divide them by their sum or add the missing component."
        )
    # Rows that are right in float64 stay as they are, however often rows are picked from them.
    rounding = 4.0 * n_components * np.finfo(np.float64).eps
    return np.asarray(np.where(off > rounding, array / sums, array))


def _count_rows(weights: Floats, components: Sequence[Forecast]) -> int:
    sizes = {f"components[{c}]": len(part) for c, part in enumerate(components)}
    if weights.ndim == 2:
        sizes = {"weights": len(weights), **sizes}
    n = max(sizes.values())
    for name, size in sizes.items():
        if size not in (1, n):
            raise ValueError(
                f"{name} has {size} rows where {n} are needed: weights and components must have "
                "the same rows, or a single one for all."
            )
    return n


def _taken_apart(
    weights: Floats, components: Sequence[Forecast]
) -> tuple[Floats, tuple[Forecast, ...]]:
    """Mixtures among the components replaced by their own."""
    columns: list[Floats] = []
    parts: list[Forecast] = []
    for weight, part in zip(weights.T, components, strict=True):
        if isinstance(part, Mixture):
            columns.extend(weight * part.weights.T)
            parts.extend(part.components)
        else:
            columns.append(weight)
            parts.append(part)
    return np.column_stack(columns), tuple(parts)


def _two_weights(weight: Any) -> Floats:
    """Both weights (n, 2) from the first."""
    first = np.asarray(as_real_array(weight, "weight", low=0.0, high=1.0), dtype=np.float64)
    return np.stack([first, 1.0 - first], axis=-1)


def _column_names(fields: Sequence[Sequence[str]]) -> tuple[list[list[str]], list[str]]:
    """Names of each component's parameters and of the weights."""
    n = len(fields)
    weight_names = [[], ["weight"]][n - 1] if n < 3 else [f"weight{c}" for c in range(n)]
    names = list(chain(*fields))
    if len({*names, *weight_names}) < len(names) + len(weight_names):
        return [[f"{name}{c}" for name in part] for c, part in enumerate(fields)], weight_names
    return [list(part) for part in fields], weight_names
