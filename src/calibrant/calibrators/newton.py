"""Newton's method for smooth convex functions of a few parameters, guided by gradients alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_ITER = 100

# A step that promises less than this is the last one: its own error is the square of its size.
_DECREASE = 1e-20
# Where there is no optimum the decrease vanishes too, but steps stay of the order of the point.
_STEP = 1e-4
# Below this, rounding errors in the gradient decide where the optimum is, if there is one at all.
_DEFINITE = 1e-13


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where Newton's method stopped, and whether that is a minimum."""

    point: Floats
    converged: bool
    n_iter: int


def minimise(
    derivatives: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Optimum:
    """Minimum of a convex function with `derivatives(point) -> (gradient, Hessian)`.

    The function must be of order one, as a mean loss is. `bounds` shorten steps that would leave
    them; they are for one parameter whose optimum lies inside. Not converged means that the
    function has no finite minimum, or none that double precision can tell.
    """
    point = start
    gradient, hessian = derivatives(point)
    for n_iter in range(1, MAX_ITER + 1):
        step = _newton_step(gradient, hessian)
        if step is None:
            return Optimum(point, False, n_iter)
        step = np.clip(point + step, *bounds) - point
        decrease = -float(gradient @ step)
        small = np.linalg.norm(step) <= _STEP * (1.0 + np.linalg.norm(point))
        if small and decrease <= _DECREASE:
            return Optimum(point + step, True, n_iter)
        advance = _search(derivatives, point, step, decrease)
        if advance is None:
            return Optimum(point, False, n_iter)
        point, gradient, hessian = advance
    return Optimum(point, False, MAX_ITER)


def _newton_step(gradient: Floats, hessian: Floats) -> Floats | None:
    """The step to the minimum of the quadratic approximation, None where it has none."""
    scale = np.sqrt(np.diag(hessian))
    if not np.all(scale > 0):
        return None
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    if values[0] < _DEFINITE:
        return None
    step: Floats = -(vectors @ ((vectors.T @ (gradient / scale)) / values)) / scale
    return step


def _search(
    derivatives: Callable[[Floats], tuple[Floats, Floats]],
    point: Floats,
    step: Floats,
    decrease: float,
) -> tuple[Floats, Floats, Floats] | None:
    """The first point along the step, from its end backwards, that is hardly beyond the minimum.

    A convex function has decreased wherever it still falls along the step. Values are not needed,
    and gradients stay exact near the minimum, where values no longer change.
    """
    fraction = 1.0
    for _ in range(MAX_ITER):
        trial = point + fraction * step
        gradient, hessian = derivatives(trial)
        rise = float(gradient @ step)
        if rise <= 0.1 * decrease:
            return trial, gradient, hessian
        fraction *= max(decrease / (decrease + rise), 0.1)
    return None
