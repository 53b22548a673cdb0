"""Between probabilities and the log-odds scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.inputs import as_real_array

_EPS = float(np.finfo(np.float64).eps)
_BLOCK = 32_768


def logit(p: ArrayLike, eps: float = _EPS) -> NDArray[np.float64]:
    r"""Log-odds of probabilities.

    Probabilities are clipped to ``[eps, 1 - eps]`` first, since the logit is infinite at 0 and 1:

    .. math:: \operatorname{logit}(p) = \log p^* - \log(1 - p^*),
              \qquad p^* = \min\{\max(p, \epsilon), 1 - \epsilon\}

    Parameters
    ----------
    p : array-like of any shape
        Probabilities in [0, 1].
    eps : float, default: machine epsilon of float64
        Clipping distance, in (0, 0.5).

    Returns
    -------
    numpy.ndarray of float64
        Log-odds, of the shape of `p`. Time and memory O(n).

    Raises
    ------
    ValueError
        If `p` has an entry that is not a finite number in [0, 1], or `eps` is not in (0, 0.5).

    See Also
    --------
    inv_logit : The inverse.

    Examples
    --------
    >>> from calibrant import logit
    >>> logit([0.25, 0.5, 0.75]).round(4)
    array([-1.0986,  0.    ,  1.0986])
    """
    if not 0.0 < eps < 0.5:
        raise ValueError(f"eps must be a number in (0, 0.5), got {eps!r}.")
    values = as_real_array(p, "p", low=0.0, high=1.0)
    clipped = np.clip(values, eps, 1.0 - eps, dtype=np.float64)
    odds: NDArray[np.float64] = np.log(clipped) - np.log1p(-clipped)
    return odds


def inv_logit(x: ArrayLike) -> NDArray[np.float64]:
    r"""Logistic function: probabilities from log-odds.

    .. math:: \operatorname{logit}^{-1}(x) = \frac{1}{1 + e^{-x}}

    Parameters
    ----------
    x : array-like of any shape
        Finite log-odds.

    Returns
    -------
    numpy.ndarray of float64
        Probabilities, of the shape of `x`; 0 or 1 where `x` is too extreme for float64.
        Time and memory O(n).

    Raises
    ------
    ValueError
        If `x` has an entry that is not a finite number.

    See Also
    --------
    logit : The inverse.

    Examples
    --------
    >>> from calibrant import inv_logit
    >>> inv_logit([-2.0, 0.0, 2.0]).round(4)
    array([0.1192, 0.5   , 0.8808])
    """
    from scipy.special import expit

    probability: NDArray[np.float64] = expit(as_real_array(x, "x").astype(np.float64, copy=False))
    return probability


def softmax(z: NDArray[Any], factor: float = 1.0) -> NDArray[np.float64]:
    """Row-wise softmax of ``factor * z``, (n, K); rows sum to one up to rounding.

    Logits of any size are safe, since the factor comes after their differences.
    """
    prob = np.empty(z.shape)
    # NumPy reduces along the long axis several times faster: turn a block that fits in the cache.
    size = max(1, _BLOCK // z.shape[1])
    with np.errstate(over="ignore"):  # differences beyond the doubles give the right limit, 0
        for start in range(0, len(z), size):
            columns = np.array(z[start : start + size].T, dtype=np.float64, order="C")
            columns -= columns.max(axis=0)
            columns *= factor
            np.exp(columns, out=columns)
            columns /= columns.sum(axis=0)
            prob[start : start + size] = columns.T
    return prob
