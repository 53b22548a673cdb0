"""The bins of [0, 1] that histogram binning and the binned metrics share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import check_n_bins
from calibrant.inputs import FloatArray

STRATEGIES = ("uniform", "quantile")


def bin_edges(
    prob: FloatArray,
    n_bins: int,
    strategy: str,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Edges of bins of [0, 1]: ascending and distinct, the first 0 and the last 1.

    Parameters
    ----------
    prob : array of shape (n,)
        Probabilities. Read by the "quantile" strategy only; n >= 1.
    n_bins : int
        How many bins, at least 1.
    strategy : {"uniform", "quantile"}
        Bins of equal width, or bins that hold about the same number of rows: their inner edges
        are the type-8 quantiles (median-unbiased) of `prob` at j / n_bins. Edges that are exactly
        equal are merged, so that ties leave fewer than `n_bins` bins.
    weight : array of shape (n,), optional
        Weights of the rows, not all zero. Where all are whole numbers, a row of weight w counts
        as w rows. Others are first rescaled to sum to the number of rows of positive weight, since
        a quantile of this type depends on the size of the sample.

    Returns
    -------
    numpy.ndarray of float64, shape (J + 1,), J <= n_bins
        Time O(n_bins) for "uniform", O(n log n) and one copy of `prob` for "quantile".

    Raises
    ------
    ValueError
        If `n_bins` is not an integer of at least 1 or `strategy` is neither option.

    References
    ----------
    Hyndman, R. J., & Fan, Y. (1996). Sample quantiles in statistical packages. The American
    Statistician, 50(4), 361-365.

    Examples
    --------
    >>> import numpy as np
    >>> bin_edges(np.array([0.1, 0.2, 0.3, 0.8]), 2, "quantile")
    array([0.  , 0.25, 1.  ])
    """
    n_bins = check_n_bins(n_bins)
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}.")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "uniform":
        return edges
    inner = _type8_quantiles(prob, edges[1:-1], weight)
    return np.unique(np.concatenate([[0.0], inner, [1.0]]))


def bin_index(prob: FloatArray, edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """The bin of each probability: bins hold their lower edge, the last one also its upper edge.

    Time O(n log J).
    """
    inside = np.searchsorted(edges, prob.astype(np.float64, copy=False), side="right")
    inside -= 1
    return np.clip(inside, 0, len(edges) - 2, out=inside)


def _type8_quantiles(
    prob: FloatArray, levels: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Quantiles in R's order of operations, whose rounding decides ties at whole positions."""
    n: float = len(prob)
    ordered: NDArray[Any]
    last: NDArray[np.float64] | None = None
    if weight is None:
        ordered = np.sort(prob)
    else:
        n, ordered, last = _expanded(prob, weight)
    third = 1.0 / 3.0
    fuzz = 4.0 * np.finfo(np.float64).eps
    position = third + levels * (n + 1 - third - third)
    below = np.floor(position + fuzz)
    h = position - below
    h[h < fuzz] = 0.0  # and where it is negative, which would lead out of [low, high]
    low = _order_statistic(below, n, ordered, last)
    high = _order_statistic(below + 1, n, ordered, last)
    exact = (h == 0.0) | (low == high)
    return np.where(exact, low, (1.0 - h) * low + h * high)


def _expanded(
    prob: FloatArray, weight: NDArray[np.float64]
) -> tuple[float, NDArray[Any], NDArray[np.float64]]:
    """Size of the weighted sample, its sorted values, and the last position that each one takes."""
    there = weight > 0
    prob, weight = prob[there], weight[there]
    order = np.argsort(prob)
    last = np.cumsum(weight[order])
    n = float(last[-1])
    if not np.array_equal(weight, np.floor(weight)):
        n = float(len(weight))
        last *= n / last[-1]
    return n, prob[order], last


def _order_statistic(
    position: NDArray[np.float64],
    n: float,
    ordered: NDArray[Any],
    last: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """The values at 1-based positions of the sorted sample; beyond its ends, the end."""
    position = np.clip(position, 1, n)
    if last is None:
        at = position.astype(np.intp) - 1
    else:
        # The slack absorbs the rounding of the running sum; half a row changes no whole number.
        at = np.searchsorted(last, position - np.minimum(0.5, 1e-10 * position))
    values: NDArray[np.float64] = ordered[at].astype(np.float64)
    return values
