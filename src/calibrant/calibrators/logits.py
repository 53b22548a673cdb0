"""What the methods on logits read: logits as they are, or the log of probabilities."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import Scale
from calibrant.entries import check, one_of
from calibrant.inputs import ROW_SUM_TOLERANCE, FloatArray
from calibrant.transforms import logit

INPUT = one_of("logit", "probability")
"""The parameter `input` of these methods."""

_EPS = float(np.finfo(np.float64).eps)


def input_scale(input: str) -> Scale:
    """How X is to be checked for a method that was made with ``input=input``.

    Raises
    ------
    ValueError
        If `input` is neither "logit" nor "probability".
    """
    check(INPUT, "input", input)
    return "score" if input == "logit" else "probability"


def read_logits(scores: FloatArray, input: str, *, warn: bool = True) -> NDArray[np.float64]:
    """Float64 logits from the checked scores given to a method made with ``input=input``.

    Parameters
    ----------
    scores : array of shape (n,) or (n, K)
        Finite scores (``input="logit"``) or checked probabilities (``input="probability"``).
    input : {"logit", "probability"}
        Probabilities become the log of the clipped probability in a matrix, the logit in a vector.
    warn : bool, default True
        Whether a vector of logits that all lie in [0, 1] is warned about. Good for the many rows of
        a fit; in prediction a few logits between 0 and 1 are nothing odd.

    Raises
    ------
    ValueError
        If `input` is neither option, or if a matrix of logits is plainly one of probabilities: all
        entries in [0, 1] and every row summing to one.
    """
    scale = input_scale(input)
    values = scores.astype(np.float64, copy=False)
    if scale == "probability":
        return logit(values) if values.ndim == 1 else np.log(np.maximum(values, _EPS))
    if values.ndim == 2 and _are_probabilities(scores):
        raise ValueError(
            "X must hold logits, but all its entries lie in [0, 1] and every row sums to one, as "
            "probabilities do: use input='probability' if that is what they are."
        )
    if warn and values.ndim == 1 and values.min() >= 0 and values.max() <= 1:
        warnings.warn(
            "X is read as logits, but all its values lie in [0, 1]: use input='probability' if "
            "they are probabilities.",
            UserWarning,
            stacklevel=4,
        )
    return values


def _are_probabilities(scores: FloatArray) -> bool:
    if scores.min() < 0 or scores.max() > 1:
        return False
    tolerance = max(ROW_SUM_TOLERANCE, 32 * float(np.finfo(scores.dtype).eps))
    return bool(np.all(np.abs(scores.sum(axis=1, dtype=np.float64) - 1) <= tolerance))
