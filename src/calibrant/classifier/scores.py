"""What a classifier says of each class, on the scale that a calibrator takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators import IsotonicCalibration, OneVsRest
from calibrant.calibrators.base import Calibrator
from calibrant.calibrators.cross_validated import without_folds
from calibrant.calibrators.multiclass import MulticlassCalibrator
from calibrant.selection.candidates import probabilities_to_logits, taken_scale
from calibrant.transforms import inv_logit, softmax

Method = Literal["auto", "decision_function", "predict_proba"]
Response = Literal["decision_function", "predict_proba"]
Codes = NDArray[np.intp]


def response_method(estimator: Any, calibrator: Calibrator, method: Method) -> Response:
    """Which method of the classifier the calibrator is fed from.

    Raises
    ------
    ValueError
        If the classifier lacks it.
    """
    order: tuple[Response, ...] = ("decision_function", "predict_proba")
    if method != "auto":
        order = (method,)
    elif taken_scale(calibrator) == "probability" and not _is_isotonic(calibrator):
        order = ("predict_proba", "decision_function")
    for name in order:
        if hasattr(estimator, name):
            return name
    raise ValueError(
        f"{type(estimator).__name__} has no {' or '.join(order)}: "
        + ("leave method='auto'." if method != "auto" else "use a classifier that has one.")
    )


@dataclass(frozen=True, slots=True)
class Scores:
    """Decision values or probabilities of rows; a column for each of the classes `known`.

    Of two classes, decision values are (n,), those of the second one.
    """

    values: NDArray[Any]
    known: Codes
    response: Response

    @classmethod
    def of(cls, estimator: Any, X: Any, response: Response, classes: NDArray[Any]) -> Self:
        """The response of a fitted classifier; `classes` are those of all the data."""
        values = np.asarray(getattr(estimator, response)(X))
        known = np.searchsorted(classes, estimator.classes_)
        width = 1 if values.ndim == 1 else values.shape[1]
        if width != len(known) and not (values.ndim == 1 and len(known) == 2):
            raise ValueError(
                f"{response} of {type(estimator).__name__} has shape {values.shape} for the "
                f"{len(known)} classes that it was fitted on: calibration needs a column for each "
                "(of an SVC, decision_function_shape='ovr'), or decision values (n,) of two."
            )
        order = np.argsort(known)
        if (order != np.arange(len(order))).any():
            values = -values if values.ndim == 1 else values[:, order]
        return cls(values, known[order], response)

    def of_classes(self, wanted: Codes, calibrator: Calibrator) -> NDArray[Any]:
        """The columns of some of the known classes; probabilities are scaled to sum to one."""
        columns = self._columns(calibrator)
        if len(wanted) == len(self.known):
            return columns
        columns = columns[:, np.searchsorted(self.known, wanted)]
        return columns if self.response == "decision_function" else _to_one(columns)

    def own_probabilities(self) -> NDArray[Any]:
        """What the classifier itself says, with a column for each known class."""
        if self.response == "predict_proba":
            return self.values
        return softmax(_two_columns(self.values, 0.5) if self.values.ndim == 1 else self.values)

    def _columns(self, calibrator: Calibrator) -> NDArray[Any]:
        if self.values.ndim == 2:
            return self.values
        # One against the rest, each class has a score of its own; in a softmax, the difference
        # counts.
        return _two_columns(self.values, 1.0 if _is_one_vs_rest(calibrator) else 0.5)


def for_two_classes(scores: Scores, calibrator: Calibrator) -> NDArray[Any]:
    """The score of the second class, or two columns for calibrators that need them."""
    if isinstance(without_folds(calibrator), MulticlassCalibrator):
        return scores.of_classes(scores.known, calibrator)
    return scores.values if scores.values.ndim == 1 else scores.values[:, 1]


@dataclass(frozen=True, slots=True)
class Scale:
    """From a classifier's response to what a calibrator takes."""

    calibrator: Calibrator
    response: Response
    low: float = 0.0
    width: float = 1.0

    @classmethod
    def fitted(cls, calibrator: Calibrator, response: Response, values: NDArray[Any]) -> Self:
        """The range of the decision values is what isotonic regression needs to know."""
        if response == "decision_function" and _is_isotonic(calibrator):
            low, high = float(values.min()), float(values.max())
            return cls(calibrator, response, low, high - low or 1.0)
        return cls(calibrator, response)

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        taken = taken_scale(self.calibrator)
        if self.response == "predict_proba":
            if taken == "logit":
                return probabilities_to_logits(self.calibrator, values)
            return values
        if taken != "probability":
            return values
        if _is_isotonic(self.calibrator):
            # Straight lines between scores are the same lines on a scale from 0 to 1.
            return np.clip((values - self.low) / self.width, 0.0, 1.0)
        if values.ndim == 1 or _is_one_vs_rest(self.calibrator):
            return inv_logit(values)
        return softmax(values)


def _to_one(prob: NDArray[Any]) -> NDArray[np.float64]:
    """Rows that sum to one; uniform where there is nothing to scale."""
    prob = prob.astype(np.float64)
    total = prob.sum(axis=1, keepdims=True)
    uniform = np.full_like(prob, 1.0 / prob.shape[1])
    scaled: NDArray[np.float64] = np.divide(prob, total, out=uniform, where=total > 0)
    return scaled


def _two_columns(values: NDArray[Any], factor: float) -> NDArray[Any]:
    return np.column_stack([-factor * values, factor * values])


def _is_one_vs_rest(calibrator: Calibrator) -> bool:
    return isinstance(without_folds(calibrator), OneVsRest)


def _is_isotonic(calibrator: Calibrator) -> bool:
    inner = without_folds(calibrator)
    return isinstance(inner.base if isinstance(inner, OneVsRest) else inner, IsotonicCalibration)
