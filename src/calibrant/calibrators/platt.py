"""Platt scaling: a logistic curve through real-valued scores."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import BinaryCalibrator, Scale, warn_not_converged
from calibrant.calibrators.logistic_fit import LogisticFit, class_totals, fit_logistic
from calibrant.entries import COUNT, FLAG, NUMBER, SHARE, Entries
from calibrant.inputs import FloatArray
from calibrant.kernels.logistic import expit_in_place
from calibrant.saving import saveable


@saveable
class PlattScaling(BinaryCalibrator):
    r"""Platt scaling: logistic regression on a score, with Platt's corrected targets.

    .. math:: q(x) = \operatorname{logit}^{-1}(\alpha + \beta x)

    where :math:`\alpha, \beta` minimise the cross-entropy with the targets
    :math:`t_+ = (n_+ + 1) / (n_+ + 2)` in place of 1 and :math:`t_- = 1 / (n_- + 2)` in place of 0.
    They keep the optimum finite where the classes are separated. With sample weights,
    :math:`n_+` and :math:`n_-` are the sums of the weights.

    The score is on any real scale: decision values, log-odds or probabilities. It is used as it
    is; nothing is transformed. The slope is free: it is negative where high scores go with the
    negative class.

    Attributes
    ----------
    intercept_, slope_ : float
        :math:`\alpha` and :math:`\beta`.
    target_positive_, target_negative_ : float
        :math:`t_+` and :math:`t_-`.
    loss_ : float
        Mean cross-entropy with the corrected targets.
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
    UserWarning
        If all scores are equal: the slope is 0 and the prediction constant.

    See Also
    --------
    BetaCalibration : A richer family of curves, for probabilities.

    Notes
    -----
    Newton's method to the optimum of the convex objective: time O(n) for each of some six passes,
    two doubles of memory a row.

    References
    ----------
    Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods. In Advances in Large Margin Classifiers.

    Examples
    --------
    >>> from calibrant import PlattScaling
    >>> scores, y = [-2.0, -1.0, -0.5, 0.5, 1.0, 3.0], [0, 0, 1, 0, 1, 1]
    >>> platt = PlattScaling().fit(scores, y)
    >>> round(platt.slope_, 4)
    0.5308
    >>> platt.predict_proba([-1.0, 0.0, 1.0]).round(4)
    array([0.3546, 0.4829, 0.6136])
    """

    _scale: Scale = "score"
    _state: ClassVar[Entries] = {
        "intercept_": NUMBER,
        "slope_": NUMBER,
        "target_positive_": SHARE,
        "target_negative_": SHARE,
        "loss_": NUMBER,
        "converged_": FLAG,
        "n_iter_": COUNT,
    }

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        n_negative, n_positive = class_totals(codes, weight)
        correction = (1.0 / (n_negative + 2.0), 1.0 / (n_positive + 2.0))
        columns = np.empty((2, len(scores)))
        columns[1] = scores
        self._keep(fit_logistic(columns, codes, weight, correction), correction)

    def _keep(self, fit: LogisticFit, correction: tuple[float, float]) -> None:
        self.intercept_, self.slope_ = fit.intercept, float(fit.slopes[0])
        self.target_negative_, self.target_positive_ = correction[0], 1.0 - correction[1]
        self.loss_, self.converged_, self.n_iter_ = fit.loss, fit.converged, fit.n_iter
        if fit.constant:
            warnings.warn(
                "all scores are equal: PlattScaling predicts the same probability everywhere.",
                UserWarning,
                stacklevel=4,
            )
        if not fit.converged:
            warn_not_converged(
                "PlattScaling did not reach the optimum: the scores tell the classes apart up to "
                "a few rows of negligible weight, so that the slope is not determined."
            )

    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):  # beyond the largest double the probability is 0 or 1
            odds = np.multiply(scores, self.slope_, dtype=np.float64)
            odds += self.intercept_
        return expit_in_place(odds)
