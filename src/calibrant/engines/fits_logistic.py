"""Logistic and temperature models fitted by sums that an engine computes, one pass a step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.logistic_fit import (
    EPS,
    SMALLEST_RANGE,
    LogisticFit,
    intercept_alone,
)
from calibrant.calibrators.newton import minimise
from calibrant.calibrators.temperature import Objective
from calibrant.engines.expressions import LARGEST_EXPONENT
from calibrant.engines.fits_rows import CODE, TrainingRows, sums

Floats = NDArray[np.float64]


def fit_logistic(
    rows: TrainingRows,
    features: Sequence[nw.Expr],
    lows: Floats,
    highs: Floats,
    smoothing: tuple[float, float] = (0.0, 0.0),
) -> LogisticFit:
    """What `calibrant.calibrators.logistic_fit.fit_logistic` does, on up to two features.

    `lows` and `highs` are the ranges of the features. One pass for the means, two more where there
    are two features, one for each step and one for the loss.
    """
    components, in_class, basis, centre = _components(rows, features, lows, highs)
    signed = _SignedColumns(rows, [nw.lit(1.0), *components])
    n_0, n_1 = rows.totals
    means = np.column_stack([[n_0, n_1], in_class.T])
    slant = smoothing[1] * means[1] - smoothing[0] * means[0]
    objective = signed.objective(slant)
    start = np.zeros(len(slant))
    start[0] = intercept_alone(n_0, n_1, smoothing)
    optimum = minimise(objective.derivatives, start)
    slopes = basis @ optimum.point[1:]
    return LogisticFit(
        intercept=float(optimum.point[0] - slopes @ centre),
        slopes=slopes,
        constant=not components,
        loss=signed.loss(optimum.point, slant),
        converged=optimum.converged,
        n_iter=optimum.n_iter,
    )


def binary_temperature(rows: TrainingRows, logit: nw.Expr) -> Objective:
    """The mean loss as a function of the inverse temperature."""
    return _SignedColumns(rows, [logit]).objective(np.zeros(1))


def temperature(rows: TrainingRows, logits: Sequence[nw.Expr]) -> Objective:
    """The same for more than two classes."""
    names = [f"logit {k}" for k in range(len(logits))]
    less = rows.frame.with_columns(nw.max_horizontal(*logits).alias("largest")).with_columns(
        *(
            (logit - nw.col("largest")).alias(name)
            for logit, name in zip(logits, names, strict=True)
        )
    )

    def scaled(inverse: float) -> nw.LazyFrame[Any]:
        """Logits over the temperature, less their largest, and sums of what they are shares of."""
        columns = [nw.col(name) * inverse for name in names]
        own = reduce(
            add,
            (
                nw.when(rows.hit(k)).then(column).otherwise(nw.lit(0.0))
                for k, column in enumerate(columns)
            ),
        )
        cut = [column.clip(-LARGEST_EXPONENT, None) for column in columns]
        frame = less.with_columns(
            own.alias("own"), *(z.alias(name) for z, name in zip(cut, names, strict=True))
        )
        logs = [nw.col(name) for name in names]
        return frame.with_columns(
            reduce(add, (z.exp() for z in logs)).alias("m0"),
            reduce(add, (z.exp() * z for z in logs)).alias("m1"),
            reduce(add, (z.exp() * z * z for z in logs)).alias("m2"),
        )

    def derivatives(point: Floats) -> tuple[Floats, Floats]:
        inverse = float(point[0])
        mean = nw.col("m1") / nw.col("m0")
        variance = nw.col("m2") / nw.col("m0") - mean * mean
        values = {"slope": mean - nw.col("own"), "curvature": variance}
        found = sums(scaled(inverse), {name: value * rows.weight for name, value in values.items()})
        slope = found["slope"] / inverse / rows.total
        return np.array([slope]), np.array([[found["curvature"] / inverse**2 / rows.total]])

    def loss(inverse: float) -> float:
        value = (nw.col("m0").log() - nw.col("own")) * rows.weight
        return sums(scaled(inverse), {"loss": value})["loss"] / rows.total

    return Objective(derivatives, loss)


class _SignedColumns:
    """The logistic model in signed columns, as in `calibrant.kernels.logistic`."""

    def __init__(self, rows: TrainingRows, columns: Sequence[nw.Expr]) -> None:
        self._rows = rows
        self._names = [f"column {i}" for i in range(len(columns))]
        sign = nw.col(CODE).cast(nw.Float64) * 2.0 - 1.0
        self._frame = rows.frame.with_columns(
            *((sign * c).alias(name) for c, name in zip(columns, self._names, strict=True))
        )

    def objective(self, slant: Floats) -> Objective:
        """The mean loss and its derivatives; `slant` is the gradient of its linear part."""

        def derivatives(theta: Floats) -> tuple[Floats, Floats]:
            return self._derivatives(theta, slant)

        return Objective(derivatives, lambda theta: self.loss(np.array([theta]), slant))

    def loss(self, theta: Floats, slant: Floats) -> float:
        """The mean loss."""
        margin = nw.col("margin")
        loss = ((-margin.abs()).clip(-LARGEST_EXPONENT, None).exp() + 1.0).log()
        value = (loss - margin.clip(None, 0.0)) * self._rows.weight
        found = sums(self._with_margin(theta), {"loss": value})
        return (found["loss"] + float(slant @ theta)) / self._rows.total

    def _with_margin(self, theta: Floats) -> nw.LazyFrame[Any]:
        terms = (nw.col(n) * t for n, t in zip(self._names, theta.tolist(), strict=True))
        return self._frame.with_columns(reduce(add, terms).alias("margin"))

    def _derivatives(self, theta: Floats, slant: Floats) -> tuple[Floats, Floats]:
        margin = nw.col("margin").clip(-LARGEST_EXPONENT, LARGEST_EXPONENT)
        frame = self._with_margin(theta).with_columns((1.0 / (1.0 + margin.exp())).alias("miss"))
        pull = nw.col("miss") * self._rows.weight
        curvature = pull * (1.0 - nw.col("miss"))
        values = {}
        for i, name in enumerate(self._names):
            values[f"{i}"] = nw.col(name) * pull
            for j in range(i + 1):
                values[f"{i} {j}"] = nw.col(name) * nw.col(self._names[j]) * curvature
        found = sums(frame, values)
        d = range(len(theta))
        gradient = slant - np.array([found[f"{i}"] for i in d])
        hessian = np.array([[found[f"{max(i, j)} {min(i, j)}"] for j in d] for i in d])
        return gradient / self._rows.total, hessian / self._rows.total


def _components(
    rows: TrainingRows, features: Sequence[nw.Expr], lows: Floats, highs: Floats
) -> tuple[list[nw.Expr], Floats, Floats, Floats]:
    """The principal components of the features, as in `logistic_fit`, largest first.

    Returned are their expressions, the sums of each over class 0 and class 1 (r, 2), the directions
    (d, r) that turn slopes of the components into slopes of the features, and the centre (d,).
    """
    d = len(features)
    low, high = 0.25 * lows, 0.25 * highs
    unit = float(np.max(high - low, initial=0.0))
    if unit < SMALLEST_RANGE:
        return [], np.zeros((0, 2)), np.zeros((d, 0)), np.zeros(d)
    scaled = [(f * 0.25 - b) / unit for f, b in zip(features, low.tolist(), strict=True)]
    in_class = _class_sums(rows, scaled)
    mean = in_class.sum(axis=1) / rows.total
    in_class -= np.outer(mean, rows.totals)
    centred = [value - m for value, m in zip(scaled, mean.tolist(), strict=True)]
    centre = 4.0 * (low + unit * mean)
    if d == 1:
        return centred, in_class, np.array([[0.25 / unit]]), centre
    # The features are rounded to eps times their size: no component is known more precisely.
    noise = 16.0 * EPS * max(1.0, float(np.abs([low, high]).max()) / unit)
    products = _sums_of(rows, [a * b for a in centred for b in centred])
    directions = np.linalg.eigh(products.reshape(d, d)).eigenvectors[:, ::-1]
    turned = [
        reduce(add, (c * share for c, share in zip(centred, column, strict=True)))
        for column in directions.T.tolist()
    ]
    # Not from the eigenvalues, which tell a ratio of deviations only down to sqrt(eps).
    deviation = np.sqrt(_sums_of(rows, [c * c for c in turned]) / rows.total)
    kept = np.flatnonzero(deviation > noise)
    basis = 0.25 / unit * directions[:, kept]
    return [turned[i] for i in kept], (directions.T @ in_class)[kept], basis, centre


def _class_sums(rows: TrainingRows, values: Sequence[nw.Expr]) -> Floats:
    """Sums (d, 2) over the rows of each class."""
    of_class = (
        nw.when(rows.hit(k)).then(value).otherwise(nw.lit(0.0)) for value in values for k in (0, 1)
    )
    return _sums_of(rows, list(of_class)).reshape(-1, 2)


def _sums_of(rows: TrainingRows, values: Sequence[nw.Expr]) -> Floats:
    named = {f"{i}": value * rows.weight for i, value in enumerate(values)}
    return np.array(list(sums(rows.frame, named).values()))
