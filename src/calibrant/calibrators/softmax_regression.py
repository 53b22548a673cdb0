"""The multinomial log loss of logits that are linear in a (K, P) matrix of parameters.

Row k of the parameters makes logit k from P features. Dirichlet calibration has the same K + 1
features for every class (the log-probabilities and a one), vector scaling two for each class (its
own logit and a one). Everything else, from the loss to its Hessian, is shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

# Temporaries hold this many numbers: few enough to stay in the cache, many enough for BLAS.
_BLOCK = 1 << 18


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of consecutive rows whose temporaries, `width` numbers a row, have a bounded size."""
    size = max(1, _BLOCK // width)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


class Features(Protocol):
    """What the logits are linear in."""

    n: int
    shape: tuple[int, int]

    def logits(self, theta: Matrix, rows: slice) -> Matrix:
        """(m, K) logits of the rows."""

    def pull_back(self, residual: Matrix, rows: slice) -> Matrix:
        """(K, P) sums over the rows of residual times feature: the transpose of `logits`."""

    def expand(self, scale: Matrix, rows: slice) -> Matrix:
        """(m, K, P) features of each class times the scale (m, K) of the class."""

    def outer(self, expanded: Matrix, scale: NDArray[np.float64], rows: slice) -> Matrix:
        """(K, P, P) sums over the rows of `expanded` times feature times the row's scale (m,)."""


class SharedFeatures:
    """The same features (n, P) for each of the K classes."""

    def __init__(self, values: Matrix, n_classes: int) -> None:
        self.values = values
        self.n = len(values)
        self.shape = (n_classes, values.shape[1])

    def logits(self, theta: Matrix, rows: slice) -> Matrix:
        return self.values[rows] @ theta.T

    def pull_back(self, residual: Matrix, rows: slice) -> Matrix:
        return residual.T @ self.values[rows]

    def expand(self, scale: Matrix, rows: slice) -> Matrix:
        return scale[:, :, None] * self.values[rows][:, None, :]

    def outer(self, expanded: Matrix, scale: NDArray[np.float64], rows: slice) -> Matrix:
        scaled = self.values[rows] * scale[:, None]
        size = self.shape[1]
        return (expanded.reshape(len(scale), -1).T @ scaled).reshape(-1, size, size)


class OwnFeatures:
    """Two features for each class: its own column of (n, K) values, and a one."""

    def __init__(self, values: Matrix) -> None:
        self.values = values
        self.n = len(values)
        self.shape = (values.shape[1], 2)

    def logits(self, theta: Matrix, rows: slice) -> Matrix:
        scaled: Matrix = self.values[rows] * theta[:, 0]
        scaled += theta[:, 1]
        return scaled

    def pull_back(self, residual: Matrix, rows: slice) -> Matrix:
        slopes = np.einsum("ik,ik->k", residual, self.values[rows])
        return np.stack([slopes, residual.sum(axis=0)], axis=1)

    def expand(self, scale: Matrix, rows: slice) -> Matrix:
        return np.stack([scale * self.values[rows], scale], axis=2)

    def outer(self, expanded: Matrix, scale: NDArray[np.float64], rows: slice) -> Matrix:
        slopes, constants = expanded[:, :, 0], expanded[:, :, 1]
        scaled = self.values[rows] * scale[:, None]
        corner = np.einsum("ik,ik->k", constants, scaled)
        return np.stack(
            [
                np.stack([np.einsum("ik,ik->k", slopes, scaled), corner], axis=1),
                np.stack([corner, scale @ constants], axis=1),
            ],
            axis=1,
        )


class SoftmaxObjective:
    r"""Weighted mean log loss plus a ridge penalty, with its derivatives.

    .. math:: L(\theta) = -\sum_i w_i \log q_{i y_i}(\theta) + \sum_{kp} r_{kp} \theta_{kp}^2,
              \qquad \sum_i w_i = 1

    Adding the same vector to all rows of `theta` leaves every q as it is. `gauge` (K, P) of zeros
    and ones picks one of these equivalent parameters: its entries sum to zero in each column. A
    column without ones is left alone. Where the penalty is a multiple of the gauge, this is also
    the equivalent of smallest penalty.

    Costs O(n K P) a call, O(n (K P)^2) for the Hessian, and an (n, K) array beyond the features.
    """

    def __init__(
        self,
        features: Features,
        codes: NDArray[np.intp],
        weight: NDArray[np.float64] | None,
        *,
        ridge: float,
        gauge: Matrix,
    ) -> None:
        n = features.n
        self.features = features
        self.codes = codes
        self.weight = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
        self.ridge = ridge * gauge
        self.gauge = gauge
        self.prob = np.empty((n, features.shape[0]))

    def centre(self, theta: Matrix) -> Matrix:
        """The equivalent parameters that satisfy the gauge."""
        excess = (self.gauge * theta).sum(axis=0) / np.maximum(self.gauge.sum(axis=0), 1.0)
        centred: Matrix = theta - excess
        return centred

    def evaluate(self, theta: Matrix) -> tuple[float, Matrix]:
        """Loss and gradient (K, P); `product` and `hessian` are taken at this point from now on."""
        loss = float((self.ridge * theta * theta).sum())
        gradient = 2.0 * self.ridge * theta
        for rows in self._blocks():
            logits = self.features.logits(theta, rows)
            logits -= logits.max(axis=1, keepdims=True)
            target = self.codes[rows]
            at_target = (np.arange(len(target)), target)
            true_logit = logits[at_target]
            prob = np.exp(logits, out=self.prob[rows])
            total = prob.sum(axis=1)
            prob /= total[:, None]
            weight = self.weight[rows]
            loss += float(weight @ (np.log(total) - true_logit))
            residual = np.multiply(prob, weight[:, None], out=logits)
            residual[at_target] -= weight
            gradient += self.features.pull_back(residual, rows)
        return loss, gradient

    def product(self, direction: Matrix) -> Matrix:
        """The Hessian times a direction (K, P)."""
        result = 2.0 * self.ridge * direction
        for rows in self._blocks():
            change = self._change(direction, rows)
            change *= self.prob[rows]
            change *= self.weight[rows][:, None]
            result += self.features.pull_back(change, rows)
        return result

    def hessian(self) -> Matrix:
        """The (KP, KP) Hessian, parameters in row-major order."""
        K, P = self.features.shape
        result = np.zeros((K * P, K * P))
        own = np.zeros((K, P, P))
        root = np.sqrt(self.weight)
        for rows in row_blocks(self.features.n, K * P):
            expanded = self.features.expand(self.prob[rows] * root[rows][:, None], rows)
            flat = expanded.reshape(len(expanded), -1)
            result -= flat.T @ flat
            own += self.features.outer(expanded, root[rows], rows)
        k = np.arange(K)
        result.reshape(K, P, K, P)[k, :, k, :] += own
        result[np.diag_indices(K * P)] += 2.0 * self.ridge.ravel()
        return result

    def largest_change(self, direction: Matrix) -> float:
        """How far a step along `direction` moves a logit of a row against the row's mean logit."""
        return max(float(np.abs(self._change(direction, rows)).max()) for rows in self._blocks())

    def _change(self, direction: Matrix, rows: slice) -> Matrix:
        change = self.features.logits(direction, rows)
        change -= np.einsum("ik,ik->i", self.prob[rows], change)[:, None]
        return change

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(*self.prob.shape)
