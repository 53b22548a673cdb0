"""Row-wise look-ups in step functions and in piecewise linear CDFs, and the scores of both.

A piecewise linear CDF goes through the points (x[i, k], level[i, k]) of its row, both ascending;
equal x are a point mass. Below the first point lies an exponential tail of scale low[i] that ends
at level[i, 0], above the last one a tail of scale high[i]; the mass of a tail of scale 0 is a
point mass at the outermost x. Points to look up and results are (m, n): rows last.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.kernels.compiling import kernel

TINY = 5e-324  # a quantile of level 0 is looked up as the smallest positive level


@kernel
def position(row: Any, t: Any, below: Any) -> Any:
    """How many entries of an ascending row are at most t, or below t.

    Without branches on the entries, which no processor could predict: the part that is left may be
    one entry too long, which is known to be above.
    """
    first = 0
    left = len(row)
    while left > 0:
        half = (left + 1) >> 1
        entry = row[first + half - 1]
        inside = (entry < t) | ((entry == t) & (not below))
        first = first + half if inside else first
        left -= half
    return first


@kernel
def between(t: Any, x0: Any, x1: Any, y0: Any, y1: Any) -> Any:
    """The value at t of the line from (x0, y0) to (x1, y1), x0 <= t <= x1 and x0 < x1."""
    if t == x1:
        return y1
    return min(y0 + (t - x0) / (x1 - x0) * (y1 - y0), y1)


@kernel
def step(x: Any, height: Any, points: Any, below: Any, out: Any) -> None:
    """The height after as many steps as there are x at most (or below) the point."""
    for i in range(points.shape[1]):
        for j in range(points.shape[0]):
            out[j, i] = height[i, position(x[i], points[j, i], below)]


@kernel
def step_score(x: Any, height: Any, y: Any, out: Any) -> None:
    """The score of the step CDF with this height below the first x, and after each."""
    for i in range(len(y)):
        total = 0.0
        for k in range(x.shape[1]):
            f0, f1 = height[i, k], height[i, k + 1]
            beyond = x[i, k] - y[i]
            share = 2.0 - f0 - f1 if beyond > 0.0 else -f0 - f1
            total += (f1 - f0) * beyond * share
        out[i] = total


@kernel
def cdf(x: Any, level: Any, low: Any, high: Any, points: Any, below: Any, out: Any) -> None:
    """The probability of at most (or below) each point."""
    last = x.shape[1] - 1
    for i in range(points.shape[1]):
        for j in range(points.shape[0]):
            t = points[j, i]
            k = position(x[i], t, below)
            if k == 0:
                tail = math.exp((t - x[i, 0]) / low[i]) if low[i] > 0.0 else 0.0
                out[j, i] = level[i, 0] * tail
            elif k > last:
                tail = math.exp((x[i, last] - t) / high[i]) if high[i] > 0.0 else 0.0
                out[j, i] = 1.0 - (1.0 - level[i, last]) * tail
            else:
                out[j, i] = between(t, x[i, k - 1], x[i, k], level[i, k - 1], level[i, k])


@kernel
def ppf(x: Any, level: Any, low: Any, high: Any, points: Any, out: Any) -> None:
    """The smallest x whose level is at least each point."""
    last = x.shape[1] - 1
    for i in range(points.shape[1]):
        for j in range(points.shape[0]):
            p = points[j, i]
            k = position(level[i], max(p, TINY), True)
            if k == 0:
                depth = -math.inf if p == 0.0 else math.log(p / level[i, 0])
                out[j, i] = x[i, 0] + low[i] * depth if low[i] > 0.0 else x[i, 0]
            elif k > last:
                depth = math.inf if p == 1.0 else math.log((1.0 - level[i, last]) / (1.0 - p))
                out[j, i] = x[i, last] + high[i] * depth if high[i] > 0.0 else x[i, last]
            else:
                out[j, i] = between(p, level[i, k - 1], level[i, k], x[i, k - 1], x[i, k])


@kernel
def log_density(x: Any, level: Any, low: Any, high: Any, points: Any, out: Any) -> None:
    """The log of the slope at each point; at a kink of the piece above, at the end of the last."""
    last = x.shape[1] - 1
    for i in range(points.shape[1]):
        for j in range(points.shape[0]):
            t = points[j, i]
            k = position(x[i], t, False)
            density = 0.0
            exponent = 0.0
            if k == 0 and low[i] > 0.0:
                density = level[i, 0] / low[i]
                exponent = (t - x[i, 0]) / low[i]
            elif k > last and high[i] > 0.0:
                density = (1.0 - level[i, last]) / high[i]
                exponent = (x[i, last] - t) / high[i]
            elif k > 0 and t <= x[i, last]:
                k = min(k, last)
                density = (level[i, k] - level[i, k - 1]) / (x[i, k] - x[i, k - 1])
            out[j, i] = exponent + np.log(density)


@kernel
def tail_score(distance: Any, mass: Any, scale: Any) -> Any:
    """The score's integral over a tail, and on to an outcome so far beyond the end of the line."""
    distance = max(distance, 0.0)
    inside = -math.expm1(-distance / scale) if scale > 0.0 else 1.0
    return distance + mass * scale * (0.5 * mass - 2.0 * inside)


@kernel
def score(x: Any, level: Any, low: Any, high: Any, y: Any, out: Any) -> None:
    """The integral of (F(t) - 1[y <= t])^2 over t."""
    last = x.shape[1] - 1
    for i in range(len(y)):
        total = tail_score(x[i, 0] - y[i], level[i, 0], low[i])
        total += tail_score(y[i] - x[i, last], 1.0 - level[i, last], high[i])
        for k in range(last):
            x0, x1 = x[i, k], x[i, k + 1]
            if x0 == x1:
                continue
            f0, f1 = level[i, k], level[i, k + 1]
            t = min(max(y[i], x0), x1)
            f = between(t, x0, x1, f0, f1)
            g, g1 = 1.0 - f, 1.0 - f1
            total += (t - x0) * (f0 * f0 + f0 * f + f * f) / 3.0
            total += (x1 - t) * (g * g + g * g1 + g1 * g1) / 3.0
        out[i] = total
