"""Vector scaling fitted by sums that an engine computes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.engines.expressions import LARGEST_EXPONENT
from calibrant.engines.fits_rows import TrainingRows, sums

Floats = NDArray[np.float64]


class VectorObjective:
    """The mean log loss of vector scaling, its gradient and its Hessian: one pass a point.

    As `calibrant.calibrators.softmax_regression.SoftmaxObjective` with `OwnFeatures`, whose values
    lie in [-1, 1]. The pass computes 2 K (K + 1) + 5 K + 1 sums.
    """

    def __init__(
        self, rows: TrainingRows, values: Sequence[nw.Expr], lows: Floats, highs: Floats
    ) -> None:
        self._rows = rows
        self._ends = np.stack([lows, highs])
        self._names = [f"value {k}" for k in range(len(values))]
        self._frame = rows.frame.with_columns(
            *(value.alias(name) for value, name in zip(values, self._names, strict=True))
        )
        self._hessian = np.empty((0, 0))
        self.ridge = np.zeros((len(values), 2))

    def centre(self, theta: Floats) -> Floats:
        """Biases of mean zero; the scales are determined."""
        centred = theta.copy()
        centred[:, 1] -= centred[:, 1].mean()
        return centred

    def largest_change(self, direction: Floats) -> float:
        """A bound, of at most a few times the change: rows at the ends of all columns at once."""
        return 2.0 * float(np.abs(self._ends * direction[:, 0] + direction[:, 1]).max())

    def hessian(self) -> Floats:
        """That of the last point."""
        return self._hessian

    def evaluate(self, theta: Floats) -> tuple[float, Floats]:
        """Loss and gradient (K, 2)."""
        n_classes, weight = len(theta), self._rows.weight
        logits = [
            nw.col(name) * scale + bias
            for name, (scale, bias) in zip(self._names, theta.tolist(), strict=True)
        ]
        named = [f"logit {k}" for k in range(n_classes)]
        frame = self._frame.with_columns(
            *(logit.alias(name) for logit, name in zip(logits, named, strict=True))
        )
        frame = frame.with_columns(nw.max_horizontal(*map(nw.col, named)).alias("largest"))
        ahead = [nw.col(name) - nw.col("largest") for name in named]
        own = [
            nw.when(self._rows.hit(k)).then(value).otherwise(nw.lit(0.0))
            for k, value in enumerate(ahead)
        ]
        shares = [f"share {k}" for k in range(n_classes)]
        frame = frame.with_columns(
            reduce(add, own).alias("own"),
            *(
                value.clip(-LARGEST_EXPONENT, None).exp().alias(name)
                for value, name in zip(ahead, shares, strict=True)
            ),
        )
        frame = frame.with_columns(reduce(add, map(nw.col, shares)).alias("whole"))
        frame = frame.with_columns(
            *((nw.col(name) / nw.col("whole")).alias(name) for name in shares)
        )
        values = {"loss": (nw.col("whole").log() - nw.col("own")) * weight}
        for k in range(n_classes):
            q, v = nw.col(shares[k]), nw.col(self._names[k])
            miss = (q - self._rows.hit(k).cast(nw.Float64)) * weight
            values |= {f"g {k} 0": miss * v, f"g {k} 1": miss}
            values |= {f"d {k} {p}": q * weight * term for p, term in enumerate((v * v, v, 1.0))}
            for l in range(k + 1):  # noqa: E741
                both = q * nw.col(shares[l]) * weight
                u = nw.col(self._names[l])
                for p, term in enumerate((v * u, v, u, 1.0)):
                    values[f"h {k} {l} {p}"] = both * term
        found = sums(frame, values)
        found = {name: value / self._rows.total for name, value in found.items()}
        self._hessian = _assembled(found, n_classes)
        gradient = [[found[f"g {k} {p}"] for p in range(2)] for k in range(n_classes)]
        return found["loss"], np.array(gradient)


def _assembled(found: dict[str, float], n_classes: int) -> Floats:
    """The (2K, 2K) Hessian, the scale and the bias of a class next to each other."""
    hessian = np.empty((n_classes, 2, n_classes, 2))
    for k in range(n_classes):
        for l in range(k + 1):  # noqa: E741
            block = -np.array([found[f"h {k} {l} {p}"] for p in range(4)]).reshape(2, 2)
            if k == l:
                square, once, none = (found[f"d {k} {p}"] for p in range(3))
                block += np.array([[square, once], [once, none]])
            hessian[k, :, l, :] = block
            hessian[l, :, k, :] = block.T
    return hessian.reshape(2 * n_classes, 2 * n_classes)
