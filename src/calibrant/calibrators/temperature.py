"""Temperature scaling: one number that softens or sharpens all predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import Calibrator, Scale, warn_not_converged
from calibrant.calibrators.logistic_fit import LARGE, TENTH, mean_derivatives, relative_weights
from calibrant.calibrators.logits import INPUT, read_logits
from calibrant.calibrators.newton import Floats, Optimum, minimise
from calibrant.entries import COUNT, FLAG, NUMBER, Entries, number
from calibrant.inputs import FloatArray
from calibrant.kernels.logistic import (
    expit_in_place,
    logistic_loss,
    temperature_derivatives,
    temperature_loss,
)
from calibrant.saving import saveable
from calibrant.transforms import softmax

_LOWEST, _HIGHEST = 1e-3, 1e3
# The ends of the inverse temperature.
_SOFTEST, _SHARPEST = 1.0 / _HIGHEST, 1.0 / _LOWEST


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
    1.393
    >>> scaling.predict_proba([[2.0, 1.0, 0.0]]).round(4)
    array([[0.5795, 0.2827, 0.1379]])
    """

    _parameters: ClassVar[Entries] = {"input": INPUT}
    _state: ClassVar[Entries] = {
        "temperature_": number(_LOWEST, _HIGHEST),
        "loss_": NUMBER,
        "converged_": FLAG,
        "n_iter_": COUNT,
    }

    def __init__(self, *, input: Literal["logit", "probability"] = "logit") -> None:
        self.input = input

    @property
    def _scale(self) -> Scale:
        return "probability" if self.input == "probability" else "score"

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        logits = _one_number_for_two(read_logits(scores, self.input))
        model = _binary if logits.ndim == 1 else _multiclass
        objective = model(logits, codes, weight)
        flat = _all_flat(logits)
        start = None
        if logits.size >= LARGE and not flat:
            part = None if weight is None else weight[TENTH]
            coarse = _best_inverse(model(logits[TENTH], codes[TENTH], part).derivatives)
            start = coarse.point if coarse.converged else None
        self._optimise(objective, flat, start)

    def _optimise(self, objective: Objective, flat: bool, start: Floats | None = None) -> None:
        """Keep the best temperature; any is as good where all logits are flat."""
        if flat:
            warnings.warn(
                "no row prefers a class, so that every temperature predicts the same: 1 is taken.",
                UserWarning,
                stacklevel=4,
            )
            optimum = Optimum(np.ones(1), converged=True, n_iter=0)
        else:
            optimum = _best_inverse(objective.derivatives, start)
        inverse = float(optimum.point[0])
        self.temperature_ = 1.0 / inverse
        self.loss_ = objective.loss(inverse)
        self.converged_, self.n_iter_ = optimum.converged, optimum.n_iter
        if not optimum.converged:
            warn_not_converged(_explanation(self.temperature_))

    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        logits = _one_number_for_two(read_logits(scores, self.input, warn=False))
        if logits.ndim == 2:
            return softmax(logits, 1.0 / self.temperature_)
        with np.errstate(over="ignore"):  # beyond the largest double the probability is 0 or 1
            return expit_in_place(logits / self.temperature_)


class Objective(NamedTuple):
    """Mean loss as a function of the inverse temperature, in which it is convex."""

    derivatives: Callable[[Floats], tuple[Floats, Floats]]
    loss: Callable[[float], float]


def _binary(logits: Floats, codes: NDArray[np.intp], weight: Floats | None) -> Objective:
    weight, total = relative_weights(weight, len(codes))
    columns, slant = (logits * (2.0 * codes - 1.0))[np.newaxis], np.zeros(1)

    def loss(inverse: float) -> float:
        return logistic_loss(columns, weight, slant, np.array([inverse])) / total

    return Objective(mean_derivatives(columns, weight, slant, total), loss)


def _multiclass(logits: Floats, codes: NDArray[np.intp], weight: Floats | None) -> Objective:
    weight, total = relative_weights(weight, len(codes))

    def derivatives(inverse: Floats) -> tuple[Floats, Floats]:
        slope, curvature = temperature_derivatives(logits, codes, weight, float(inverse[0]))
        return np.array([slope / total]), np.array([[curvature / total]])

    def loss(inverse: float) -> float:
        return temperature_loss(logits, codes, weight, inverse) / total

    return Objective(derivatives, loss)


def _best_inverse(
    derivatives: Callable[[Floats], tuple[Floats, Floats]], start: Floats | None = None
) -> Optimum:
    """The best inverse temperature; converged if it is inside the interval."""
    if start is None:
        sharpest = np.array([_SHARPEST])
        # Without an optimum inside, Newton's steps would creep there.
        if derivatives(sharpest)[0][0] <= 0.0:
            return Optimum(sharpest, converged=False, n_iter=0)
        # At the soft end the loss is nearly quadratic: steps from there fall short of the optimum
        # rather than jump beyond it, to where nothing is curved.
        start = np.array([_SOFTEST])
    optimum = minimise(derivatives, start, (_SOFTEST, _SHARPEST))
    # Where the loss falls beyond an end, the last step is cut short there.
    inside = _SOFTEST < optimum.point[0] < _SHARPEST
    return replace(optimum, converged=optimum.converged and bool(inside))


def _one_number_for_two(logits: Floats) -> Floats:
    """The log-odds (n,) in place of two columns of logits."""
    if logits.ndim == 1 or logits.shape[1] > 2:
        return logits
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        odds: Floats = np.clip(logits[:, 1] - logits[:, 0], -largest, largest)
    return odds


def _all_flat(logits: Floats) -> bool:
    if logits.ndim == 1:
        return not logits.any()
    # The first row nearly always tells.
    return bool((logits[0] == logits[0, 0]).all() and (logits == logits[:, :1]).all())


def _explanation(temperature: float) -> str:
    if temperature == _LOWEST:
        return (
            f"the temperature is at its lower bound {_LOWEST:g}: the most likely class is right in "
            "every row, so that no sharpening is too much. Fit on more data."
        )
    if temperature == _HIGHEST:
        return (
            f"the temperature is at its upper bound {_HIGHEST:g}: the logits tell no more about "
            "the classes than guessing does. Check that the columns belong to the labels."
        )
    return "TemperatureScaling stopped before it reached the optimum."
