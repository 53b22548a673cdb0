"""Newton's method for the softmax objective, to the optimum or until it is clear there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from calibrant.calibrators.softmax_regression import (
    Matrix,
    SharedFeatures,
    SoftmaxObjective,
    row_blocks,
)

_EPS = float(np.finfo(np.float64).eps)
_MAX_ITERATIONS = 100
# Logits that a step moves by less than this are at their optimum up to the square of it.
_STILL = 1e-7
# An unpenalised loss below this leaves no row on the wrong side, so that larger logits are better.
_SEPARATED = 1e-9
# A step that promises less than this changes no digit of the loss.
_NO_GAIN = 1e-15


class Objective(Protocol):
    """A convex function of (K, P) parameters that make logits, as `SoftmaxObjective` is."""

    ridge: Matrix

    def centre(self, theta: Matrix) -> Matrix:
        """The equivalent parameters that are preferred."""

    def evaluate(self, theta: Matrix) -> tuple[float, Matrix]:
        """Value and gradient; the other methods refer to this point from now on."""

    def hessian(self) -> Matrix:
        """The (KP, KP) Hessian."""

    def largest_change(self, direction: Matrix) -> float:
        """How far a step along `direction` moves a logit against the row's mean logit."""


Direction = Callable[[Matrix], Matrix]
"""From the gradient at the point last evaluated to (roughly) minus the inverse Hessian times it."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where Newton's method stopped."""

    theta: Matrix
    loss: float
    converged: bool
    n_iter: int


def minimise(objective: Objective, start: Matrix, direction: Direction) -> Optimum:
    """Minimise from `start`, with steps halved until the loss falls as it should.

    Convergence is judged by how far a whole Newton step would move the logits of the data, not by
    the loss or the gradient: where classes can be separated both of these tend to a limit, but the
    logits go on growing by a constant for ever, and no finite optimum exists.
    """
    theta = _tempered(objective, objective.centre(start))
    loss, gradient = objective.evaluate(theta)
    for iteration in range(1, _MAX_ITERATIONS + 1):
        step = objective.centre(direction(gradient))
        change = objective.largest_change(step)
        slope = float((gradient * step).sum())
        if change > 0.1 and -slope <= _NO_GAIN:
            return Optimum(theta, loss, False, iteration)
        size = 1.0
        while True:
            candidate = theta + size * step
            new_loss, new_gradient = objective.evaluate(candidate)
            # The tolerance is the rounding of the loss itself, for the last steps.
            if new_loss <= loss + 1e-4 * size * slope + 1e-14 * (1.0 + abs(loss)):
                break
            size /= 2.0
            if size < 1e-10:
                return Optimum(theta, loss, False, iteration)
        theta, loss, gradient = candidate, new_loss, new_gradient
        if loss < _SEPARATED and not objective.ridge.any():
            return Optimum(theta, loss, False, iteration)
        if change <= _STILL:
            return Optimum(theta, loss, True, iteration)
    return Optimum(theta, loss, False, _MAX_ITERATIONS)


def _tempered(objective: Objective, theta: Matrix) -> Matrix:
    """The start, halved while that lowers the loss: where q is all 0 and 1, Newton gets lost."""
    loss, _ = objective.evaluate(theta)
    while True:
        halved, _ = objective.evaluate(theta / 2.0)
        if halved > loss * 0.999:
            return theta
        theta, loss = theta / 2.0, halved


def exact_direction(objective: Objective) -> Direction:
    """Newton's direction from a Cholesky factor of the Hessian: O(n (K P)^2 + (K P)^3)."""

    def direction(gradient: Matrix) -> Matrix:
        return -factored(objective.hessian())(gradient.ravel()).reshape(gradient.shape)

    return direction


class ConjugateGradients:
    """Newton's direction by preconditioned conjugate gradients: O(n K P) an iteration.

    For Dirichlet calibration: class k's own feature is number k, its weight alone unpenalised. The
    Hessian is a sum over rows of (diag(q) - q q') kron (f f'). The preconditioner is the inverse of
    the Kronecker product of the two weighted means, with the penalty as if it were on all
    parameters, plus the inverse of the Hessian among the unpenalised parameters.
    """

    _max_inner = 200

    def __init__(self, objective: SoftmaxObjective, features: SharedFeatures) -> None:
        self.objective = objective
        self.features = features
        gram = np.zeros((features.shape[1],) * 2)
        for rows in row_blocks(*features.values.shape):
            values = features.values[rows]
            gram += (values * objective.weight[rows][:, None]).T @ values
        self._gram = eigh(gram, check_finite=False)

    def __call__(self, gradient: Matrix) -> Matrix:
        precondition = self._preconditioner()
        centre = self.objective.centre
        step = np.zeros_like(gradient)
        residual = -gradient
        z = centre(precondition(residual))
        conjugate = z
        norm = float((residual * z).sum())
        # Inexact far from the optimum, ever more exact on the way: superlinear convergence.
        target = norm * min(0.1, max(np.sqrt(max(norm, 0.0)), 1e-4)) ** 2
        for inner in range(self._max_inner):
            product = self.objective.product(conjugate)
            curvature = float((conjugate * product).sum())
            if norm <= 0.0 or curvature <= 0.0:
                # Nothing left but rounding. Before any step, the preconditioner has to do: a step
                # of zero would look like an optimum.
                return step if inner else z
            length = norm / curvature
            step += length * conjugate
            residual -= length * product
            z = centre(precondition(residual))
            previous, norm = norm, float((residual * z).sum())
            if norm <= target:
                break
            conjugate = z + (norm / previous) * conjugate
        return step

    def _preconditioner(self) -> Callable[[Matrix], Matrix]:
        spread, own = self._spreads()
        left_values, left = eigh(spread, check_finite=False)
        right_values, right = self._gram
        curvature = np.outer(left_values, right_values)
        floor = 4.0 * _EPS * curvature.max()
        ridge = 2.0 * float(self.objective.ridge.max())
        inverse = 1.0 / (np.maximum(curvature, floor) + ridge)
        if ridge == 0.0:
            # Rounding must not move what the data say nothing about.
            inverse[:, right_values < len(own) * _EPS * right_values.max()] = 0.0
        solve_own = factored(own)

        def precondition(residual: Matrix) -> Matrix:
            z: Matrix = left @ ((left.T @ residual @ right) * inverse) @ right.T
            z[np.diag_indices(len(own))] += solve_own(np.diagonal(residual))
            return z

        return precondition

    def _spreads(self) -> tuple[Matrix, Matrix]:
        """Weighted mean of diag(q) - q q', and the Hessian of the classes' own weights (K, K)."""
        K = self.features.shape[0]
        spread, own = np.zeros((K, K)), np.zeros((K, K))
        for rows in row_blocks(*self.objective.prob.shape):
            prob, weight = self.objective.prob[rows], self.objective.weight[rows][:, None]
            values = self.features.values[rows, :K]
            for total, factor in ((spread, prob), (own, prob * values)):
                weighted = factor * weight
                total -= weighted.T @ factor
                moment = weighted if factor is prob else weighted * values
                total[np.diag_indices(K)] += moment.sum(axis=0)
        return spread, own


def factored(matrix: Matrix) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """The solver of a symmetric system, positive semidefinite up to rounding."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale[scale == 0.0] = 1.0  # a parameter without effect, such as the slope of a constant
    matrix = matrix / scale
    matrix /= scale[:, None]
    # The jitter makes flat directions definite. What it lets into them is removed by the gauge, or
    # does not matter; elsewhere the next Newton step corrects it.
    jitter = len(scale) * _EPS
    while True:
        matrix[np.diag_indices(len(scale))] += jitter
        try:
            factor = cho_factor(matrix, lower=True, check_finite=False)
            break
        except LinAlgError:
            jitter *= 100.0

    def solve(right: NDArray[np.float64]) -> NDArray[np.float64]:
        solution: NDArray[np.float64] = cho_solve(factor, right / scale, check_finite=False)
        return solution / scale

    return solve
