"""Vector scaling: a scale and a bias for each class's logit."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import Scale, warn_not_converged
from calibrant.calibrators.logits import INPUT, input_scale, read_logits
from calibrant.calibrators.multiclass import MulticlassCalibrator
from calibrant.calibrators.softmax_newton import Optimum, exact_direction, minimise
from calibrant.calibrators.softmax_regression import OwnFeatures, SoftmaxObjective, row_blocks
from calibrant.entries import COUNT, FLAG, NUMBER, Entries, array
from calibrant.inputs import FloatArray
from calibrant.saving import saveable
from calibrant.transforms import softmax

Floats = NDArray[np.float64]

_LARGEST_LOGIT = 1e300


@saveable
class VectorScaling(MulticlassCalibrator):
    r"""Vector scaling: each class's logit is scaled and shifted before the softmax.

    .. math:: q_{ik} = \frac{\exp(s_k z_{ik} + b_k)}{\sum_l \exp(s_l z_{il} + b_l)}

    The scales and biases minimise the mean log loss. Temperature scaling is the special case of
    equal scales and no bias; unlike it, vector scaling can change which class is the most likely,
    and a scale may be negative. Only differences of biases matter: they are given with mean zero.

    Parameters
    ----------
    input : {"logit", "probability"}, default="logit"
        Whether X holds logits, or probabilities whose (clipped) log is taken.

    Attributes
    ----------
    scale_ : ndarray of shape (K,)
        Scale of each class.
    bias_ : ndarray of shape (K,)
        Bias of each class, mean zero.
    loss_ : float
        Mean log loss on the data of the fit (weighted mean where there are weights).
    converged_ : bool
        Whether the optimum was reached. It does not exist where the logits separate classes
        perfectly or where a class of `labels` does not occur in y.
    n_iter_ : int
        Newton iterations.
    classes_ : ndarray of shape (K,)
        Labels of the columns.
    n_features_in_ : int
        K.

    Raises
    ------
    ValueError
        If X is not (n, K), or if `input` is "logit" and X is plainly a matrix of probabilities.

    Warns
    -----
    ConvergenceWarning
        If `converged_` is false; the predictions are valid probabilities all the same.
    UserWarning
        If all rows of X are equal: the prediction is constant.

    See Also
    --------
    TemperatureScaling : One scale for all classes.
    DirichletCalibration : Every logit depends on all the probabilities.

    Notes
    -----
    Newton's method with the exact Hessian: time O(n K^2 + K^3) an iteration, usually fewer than
    ten iterations; memory O(n K). Prediction takes O(n K).

    References
    ----------
    Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017). On calibration of modern neural
    networks. ICML.

    Examples
    --------
    >>> from calibrant import VectorScaling
    >>> logits = [[3, 0, 1], [1, 2, 0], [0, 4, 1], [2, 0, 3], [1, 1, 4], [3, 1, 1], [0, 3, 2]]
    >>> y = ["ant", "bee", "bee", "ant", "cat", "bee", "cat"]
    >>> fitted = VectorScaling().fit(logits, y)
    >>> fitted.scale_.round(3)
    array([1.172, 0.071, 1.269])
    >>> fitted.predict_proba([[2, 1, 0]]).round(3)
    array([[0.466, 0.509, 0.026]])
    """

    _parameters: ClassVar[Entries] = {"input": INPUT}
    _state: ClassVar[Entries] = {
        "scale_": array("K"),
        "bias_": array("K"),
        "loss_": NUMBER,
        "converged_": FLAG,
        "n_iter_": COUNT,
    }

    def __init__(self, *, input: str = "logit") -> None:
        self.input = input

    scale_: NDArray[np.float64]
    bias_: NDArray[np.float64]
    loss_: float
    converged_: bool
    n_iter_: int

    @property
    def _scale(self) -> Scale:
        return input_scale(self.input)

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        logits = read_logits(scores, self.input)
        self._warn_constant(logits)
        # Standardised columns make the Hessian well-conditioned, wherever the logits lie.
        middle = logits.mean(axis=0)
        values = logits - middle
        spread = np.abs(values).max(axis=0)
        spread[spread == 0.0] = 1.0
        values /= spread
        gauge = np.column_stack([np.zeros_like(middle), np.ones_like(middle)])
        objective = SoftmaxObjective(OwnFeatures(values), codes, weight, ridge=0.0, gauge=gauge)
        start = np.column_stack([spread, middle])  # scales one, biases zero
        self._keep(minimise(objective, start, exact_direction(objective)), middle, spread)

    def _keep(self, optimum: Optimum, middle: Floats, spread: Floats) -> None:
        """Keep the optimum for logits less `middle`, over `spread`."""
        self.scale_ = optimum.theta[:, 0] / spread
        bias = optimum.theta[:, 1] - self.scale_ * middle
        self.bias_ = bias - bias.mean()
        self.loss_ = optimum.loss
        self.converged_ = optimum.converged
        self.n_iter_ = optimum.n_iter
        if not self.converged_:
            warn_not_converged(
                f"VectorScaling stopped after {self.n_iter_} iterations without an optimum: the "
                "logits separate classes, perfectly or nearly so, or a class does not occur in y. "
                "The predictions are valid, but some are close to 0 or 1 without good reason; fit "
                "on more data, or use TemperatureScaling."
            )

    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        logits = read_logits(scores, self.input)
        prob = np.empty_like(logits)
        for rows in row_blocks(*logits.shape):
            with np.errstate(over="ignore"):
                scaled = logits[rows] * self.scale_ + self.bias_
            prob[rows] = softmax(np.clip(scaled, -_LARGEST_LOGIT, _LARGEST_LOGIT, out=scaled))
        return prob
