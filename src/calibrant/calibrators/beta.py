"""Beta calibration: a logistic curve in log p and log(1 - p)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import BinaryCalibrator, warn_not_converged
from calibrant.calibrators.logistic_fit import LogisticFit, fit_logistic
from calibrant.entries import (
    COUNT,
    FLAG,
    NUMBER,
    Entries,
    is_number,
    number,
    one_of,
    plain,
)
from calibrant.inputs import FloatArray
from calibrant.kernels.logistic import blocks, expit_in_place
from calibrant.saving import saveable

_EPS = plain(
    "a number in (0, 0.5) and large enough that 1 - eps is below 1 in double precision (1.2e-16 "
    "is)",
    lambda value: is_number(value) and 0.0 < value < 0.5 and 1.0 - value < 1.0,
)
# What no fit reaches, and what sums of a few terms do not overflow with.
_COEFFICIENT = number(-1e300, 1e300)


@saveable
class BetaCalibration(BinaryCalibrator):
    r"""Beta calibration: logistic regression on the logs of a probability and its complement.

    .. math:: q(p) = \operatorname{logit}^{-1}\{a \log p^* - b \log(1 - p^*) + c\},
              \qquad p^* = \min\{\max(p, \epsilon), 1 - \epsilon\}

    where :math:`a, b, c` minimise the cross-entropy. The curves include the identity
    (:math:`a = b = 1, c = 0`), sigmoids and inverse sigmoids, symmetric or not.

    Parameters
    ----------
    eps : float, default=1e-15
        Clipping distance :math:`\epsilon`, in (0, 0.5), and at least 1.2e-16, since nothing
        smaller moves 1 in double precision.
    constraint : None or "monotone", default=None
        "monotone" asks for :math:`a \ge 0` and :math:`b \ge 0`, so that the curve never decreases.

    Attributes
    ----------
    a_, b_, c_ : float
        The coefficients.
    loss_ : float
        Mean negative log-likelihood.
    converged_ : bool
        Whether the optimum was reached.
    n_iter_ : int
        Newton steps.
    classes_ : numpy.ndarray of shape (2,)
        The labels; the second one is predicted.
    n_features_in_ : int
        Columns of the input, 1 for (n,).

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If there is no optimum, since the probabilities separate the classes. Predictions are then
        extreme, but within [0, 1].
    UserWarning
        If all probabilities are equal: the prediction is constant.

    See Also
    --------
    DirichletCalibration : The same for more than two classes.

    Notes
    -----
    Newton's method to the optimum of the convex objective: time O(n) for each of some six passes,
    three doubles of memory a row. Where the data do not determine a and b, as with two distinct
    probabilities, the pair of least norm is taken. For the constraint, the fits with a = 0, with
    b = 0 and with both are compared where the free fit breaks it, which is exact since the
    objective is convex.

    References
    ----------
    Kull, M., Silva Filho, T. M., & Flach, P. (2017). Beyond sigmoids: How to obtain
    well-calibrated probabilities from binary classifiers with beta calibration. Electronic Journal
    of Statistics, 11(2), 5052-5080. https://doi.org/10.1214/17-EJS1338SI

    Examples
    --------
    >>> from calibrant import BetaCalibration
    >>> p, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.9, 0.95, 0.4], [0, 0, 1, 1, 0, 1, 1, 0]
    >>> beta = BetaCalibration(constraint="monotone").fit(p, y)
    >>> beta.predict_proba([0.0, 0.5, 1.0]).round(4)
    array([0.    , 0.4533, 1.    ])
    """

    _parameters: ClassVar[Entries] = {"eps": _EPS, "constraint": one_of(None, "monotone")}
    _state: ClassVar[Entries] = {
        "a_": _COEFFICIENT,
        "b_": _COEFFICIENT,
        "c_": _COEFFICIENT,
        "loss_": NUMBER,
        "converged_": FLAG,
        "n_iter_": COUNT,
    }

    def __init__(
        self, *, eps: float = 1e-15, constraint: Literal["monotone"] | None = None
    ) -> None:
        self.eps = eps
        self.constraint = constraint

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        def fit_with(*used: int) -> LogisticFit:
            """The optimum over some of the two slopes, the others zero."""
            columns = np.empty((1 + len(used), len(scores)))
            for rows in blocks(len(scores)):
                logs = _features(scores[rows], self.eps)
                for row, which in enumerate(used, start=1):
                    columns[row, rows] = logs[which]
            fit = fit_logistic(columns, codes, weight)
            slopes = np.zeros(2)
            slopes[list(used)] = fit.slopes
            return replace(fit, slopes=slopes)

        self._choose(fit_with, float(scores.min()), float(scores.max()))

    def _choose(self, fit_with: Callable[..., LogisticFit], low: float, high: float) -> None:
        """Keep the best fit to probabilities from `low` to `high`."""
        fit = fit_with(0, 1)
        if self.constraint == "monotone" and (fit.slopes < 0).any():
            on_edges = [fit_with(1), fit_with(0), fit_with()]
            fit = min((f for f in on_edges if (f.slopes >= 0).all()), key=lambda f: f.loss)
        self.a_, self.b_ = map(float, fit.slopes)
        self.c_ = fit.intercept
        self.loss_, self.converged_, self.n_iter_ = fit.loss, fit.converged, fit.n_iter
        if np.ptp(np.clip([low, high], self.eps, 1.0 - self.eps)) == 0.0:
            warnings.warn(
                "all probabilities are equal, perhaps after clipping: BetaCalibration predicts "
                "the same everywhere.",
                UserWarning,
                stacklevel=4,
            )
        if not fit.converged:
            warn_not_converged(
                "BetaCalibration has no finite optimum: the probabilities separate the classes. "
                "Its predictions are as extreme as the fit got; use PlattScaling, which stays "
                "moderate, or more data."
            )

    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        odds = np.empty(len(scores))
        for rows in blocks(len(scores)):
            log_p, minus_log_q = _features(scores[rows], self.eps)
            odds[rows] = self.a_ * log_p + self.b_ * minus_log_q + self.c_
        return expit_in_place(odds)


def _features(prob: FloatArray, eps: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """log p and -log(1 - p) of clipped probabilities."""
    clipped = np.clip(prob, eps, 1.0 - eps, dtype=np.float64)
    return np.log(clipped), -np.log1p(-clipped)
