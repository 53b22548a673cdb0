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

    temperature_: float
    loss_: float
    converged_: bool
    n_iter_: int

    @property
    def _scale(self) -> Scale:  # type: ignore[override]
        return input_scale(self.input)

    def _native(self, scores: FloatArray) -> FloatArray:
        if self.input == "probability" and scores.ndim == 2 and scores.shape[1] == 2:
            return np.ascontiguousarray(scores[:, 1])
        return scores

    def _restore(self, prob: NDArray[np.float64], ndim: int) -> NDArray[np.float64]:
        return prob if prob.ndim == ndim else np.column_stack([1.0 - prob, prob])

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        logits = _without_pairs(read_logits(scores, self.input))
        model = _Binary if logits.ndim == 1 else _Multiclass
        objective = model(logits, codes, weight)
        optimum = _minimise(objective)
        inverse = float(optimum.point[0])
        self.temperature_ = 1.0 / inverse
        self.loss_ = objective.loss(inverse)
        self.converged_, self.n_iter_ = optimum.converged, optimum.n_iter
