"""A fitted classifier together with the calibrator of what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from calibrant.calibrators.base import Calibrator
from calibrant.classifier.scores import Codes, Scale, Scores, for_two_classes

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CalibratedPair:
    """A classifier and its calibrator, both fitted.

    Attributes
    ----------
    estimator : classifier
        Fitted on rows of its own.
    calibrator : calibrator
        Fitted to what such a classifier said of rows that it was not fitted on.
    classes : numpy.ndarray
        Those of all the data.
    """

    estimator: Any
    calibrator: Calibrator
    classes: NDArray[Any]
    _scale: Scale
    _calibrated: Codes

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities, with a column for each class of all the data."""
        scores = Scores.of(self.estimator, X, self._scale.response, self.classes)
        if len(self.classes) == 2:
            values = for_two_classes(scores, self.calibrator)
            prob = self.calibrator.predict_proba(self._scale(values))
            return prob if prob.ndim == 2 else np.column_stack([1.0 - prob, prob])
        values = scores.of_classes(self._calibrated, self.calibrator)
        prob = self.calibrator.predict_proba(self._scale(values))
        if len(self._calibrated) == len(self.classes):
            return prob
        everywhere = np.zeros((len(prob), len(self.classes)))
        everywhere[:, scores.known] = scores.own_probabilities()
        shared = everywhere[:, self._calibrated].sum(axis=1, keepdims=True)
        everywhere[:, self._calibrated] = prob * shared
        return everywhere


def fit_pair(
    estimator: Any,
    calibrator: Calibrator,
    held_out: Sequence[tuple[Codes, Scores]],
    codes: Codes,
    weight: Floats | None,
    classes: NDArray[Any],
) -> CalibratedPair:
    """Fit the calibrator on held-out rows with their scores; `codes` and `weight` are of all rows.

    Classes that one of the classifiers did not know or that no row is of stay out of it.

    Raises
    ------
    ValueError
        If fewer than two classes are left, or as the calibrator does.
    """
    rows = np.concatenate([part for part, _ in held_out])
    # As the rows were given, whatever the folds: calibrators may split them once more.
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    known = reduce(np.intersect1d, [scores.known for _, scores in held_out])
    counted = rows if weight is None else rows[weight[rows] > 0]
    calibrated = np.intersect1d(known, codes[counted])
    if len(calibrated) < 2:
        raise ValueError(
            "the classifier cannot be calibrated: of the classes "
            f"{_shown(classes[np.unique(codes)])} only {_shown(classes[calibrated])} can be told "
            "apart in the rows to fit and to calibrate on. Use folds that hold rows of each class."
        )
    values = np.concatenate(
        [
            for_two_classes(scores, calibrator)
            if len(classes) == 2
            else scores.of_classes(calibrated, calibrator)
            for _, scores in held_out
        ]
    )[order]
    kept = np.isin(codes[rows], calibrated)
    rows, values = rows[kept], values[kept]
    scale = Scale.fitted(calibrator, held_out[0][1].response, values)
    fitted = clone(calibrator).fit(
        scale(values),
        classes[codes[rows]],
        sample_weight=None if weight is None else weight[rows],
        labels=classes[calibrated],
    )
    return CalibratedPair(estimator, fitted, classes, scale, calibrated)


def _shown(classes: NDArray[Any]) -> str:
    values = classes.tolist()
    return repr(values) if len(values) <= 6 else f"[{', '.join(map(repr, values[:5]))}, ...]"
