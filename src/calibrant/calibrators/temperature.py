"""Temperature scaling: one number that softens or sharpens all predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import Calibrator, Scale, warn_not_converged
from calibrant.calibrators.logits import read_logits
from calibrant.calibrators.newton import Floats, minimise
from calibrant.inputs import FloatArray
from calibrant.kernels import logistic
from calibrant.saving import saveable
from calibrant.transforms import logit, softmax

_BOUNDS = (1e-3, 1e3)
"""Of the temperature and so of its inverse."""


@saveable
class TemperatureScaling(Calibrator):
    r"""Temperature scaling: logits divided by one positive number.

    .. math:: q_i = \operatorname{logit}^{-1}(z_i / T) \quad\text{or}\quad
              q_{ik} = \frac{\exp(z_{ik} / T)}{\sum_l \exp(z_{il} / T)}

    where :math:`T \in [10^{-3}, 10^3]` minimises the negative log-likelihood. The predicted class
    never changes. :math:`T > 1` softens overconfident predictions.

    Parameters
    ----------
    input : {"logit", "probability"}, default="logit"
        What `X` holds. (n,): log-odds, or probabilities, whose logit is taken. (n, K): logits of
        the softmax, or probabilities, whose log is taken. Probabilities are clipped to machine
        epsilon. Two columns of logits count by their difference.

    Attributes
    ----------
    temperature_ : float
        :math:`T`.
    loss_ : float
        Mean negative log-likelihood.
    converged_ : bool
        Whether the optimum is inside the interval.
    n_iter_ : int
        Newton steps.
    classes_ : numpy.ndarray of shape (K,)
        The labels in the order of the columns.
    n_features_in_ : int
        Columns of the input, 1 for (n,).

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the temperature is at an end of the interval: at the lower one where the predicted
        classes are all right, at the upper one where the logits are no better than guessing.
    UserWarning
        If no row prefers a class, so that every temperature is as good (1 is taken); or if a
        vector of logits looks like probabilities.

    See Also
    --------
    VectorScaling : A scale and a bias for each class.

    Notes
    -----
    The objective is convex in 1 / T. Newton's method to its optimum: time O(n K) for each of some
    eight passes, memory O(n) beyond float64 logits.

    References
    ----------
    Guo, C., Pleiss, G., Sun, Y., & Weinberger, K. Q. (2017). On calibration of modern neural
    networks. Proceedings of the 34th International Conference on Machine Learning.

    Examples
    --------
    >>> from calibrant import TemperatureScaling
    >>> logits = [[4.0, 0.0, 1.0], [0.0, 3.0, 0.0], [3.0, 1.0, 0.0], [0.0, 1.0, 5.0]]
    >>> y = ["cat", "dog", "dog", "fox"]
    >>> scaling = TemperatureScaling().fit(logits, y)
    >>> round(scaling.temperature_, 4)
    2.4105
    >>> scaling.predict_proba([[2.0, 1.0, 0.0]]).round(4)
    array([[0.4771, 0.3151, 0.2078]])
    """

    _state: ClassVar[tuple[str, ...]] = ("temperature_", "loss_", "converged_", "n_iter_")

    def __init__(self, *, input: Literal["logit", "probability"] = "logit") -> None:
        self.input = input

    @property
    def _scale(self) -> Scale:
        return "probability" if self.input == "probability" else "score"

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        logits = self._logits(scores, warn=True)
        total = float(len(codes) if weight is None else weight.sum())
        if logits.ndim == 1:
            columns = ((2.0 * codes - 1.0) * logits)[np.newaxis]
            no_slant = np.zeros(1)
            size = float(np.abs(logits).max())

            def derivatives(inverse: Floats) -> tuple[Floats, Floats]:
                slope, curvature = logistic.logistic_derivatives(columns, weight, no_slant, inverse)
                return slope / total, curvature / total

            def loss(inverse: Floats) -> float:
                return logistic.logistic_loss(columns, weight, no_slant, inverse) / total

        else:
            largest = logits.max(axis=1)
            size = float((largest - logits.min(axis=1)).max())

            def derivatives(inverse: Floats) -> tuple[Floats, Floats]:
                slope, curvature = logistic.temperature_derivatives(
                    logits, largest, codes, weight, float(inverse[0])
                )
                return np.array([slope / total]), np.array([[curvature / total]])

            def loss(inverse: Floats) -> float:
                of_all = logistic.temperature_loss(
                    logits, largest, codes, weight, float(inverse[0])
                )
                return of_all / total

        inverse = self._minimise(derivatives, size)
        self.temperature_ = 1.0 / float(inverse[0])
        self.loss_ = loss(inverse)

    def _minimise(
        self, derivatives: Callable[[Floats], tuple[Floats, Floats]], size: float
    ) -> Floats:
        """The best inverse temperature, which becomes a bound where the loss falls beyond it."""
        if size == 0.0:
            warnings.warn(
                "no row prefers a class, so that every temperature predicts the same: 1 is taken.",
                UserWarning,
                stacklevel=4,
            )
            self.converged_, self.n_iter_ = True, 0
            return np.ones(1)
        # Where logits over the temperature are of order one, the loss is well curved.
        start = np.clip(np.array([3.0 / size]), *_BOUNDS)
        optimum = minimise(derivatives, start, _BOUNDS)
        self.n_iter_ = optimum.n_iter
        inverse = optimum.point
        if not optimum.converged:
            # The loss is flat to rounding: it falls towards the bound that the slope points to.
            rising = derivatives(inverse)[0][0] > 0
            inverse = np.array([_BOUNDS[0] if rising else _BOUNDS[1]])
        self.converged_ = _BOUNDS[0] < inverse[0] < _BOUNDS[1]
        if not self.converged_:
            warn_not_converged(
                f"TemperatureScaling ran to the bound T = {1.0 / inverse[0]:g}: the loss falls still "
                "further beyond it. "
                + (
                    "The largest logit is right in every row that matters."
                    if inverse[0] > 1
                    else "The logits say nothing about the classes, or the opposite."
                )
            )
        return inverse

    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        logits = self._logits(scores, warn=False)
        with np.errstate(over="ignore"):  # a logit beyond the doubles gives the right limit
            if logits.ndim == 1:
                positive = logistic.expit_in_place(logits / self.temperature_)
                return positive if scores.ndim == 1 else np.column_stack([1.0 - positive, positive])
            prob = np.empty(logits.shape)
            for rows in logistic.blocks(*logits.shape):
                block = logits[rows]
                prob[rows] = softmax((block - block.max(axis=1)[:, np.newaxis]) / self.temperature_)
        return prob

    def _logits(self, scores: FloatArray, *, warn: bool) -> NDArray[np.float64]:
        """Logits (n, K), or for two classes their difference (n,)."""
        if scores.ndim == 2 and scores.shape[1] == 2:
            if self.input == "probability":
                return logit(scores[:, 1])
            pair = read_logits(scores, self.input, warn=warn)
            with np.errstate(over="ignore"):
                return pair[:, 1] - pair[:, 0]
        return read_logits(scores, self.input, warn=warn)
