"""The calibrator that cross-validation recommends, as an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from calibrant import inputs
from calibrant.calibrators.base import Calibrator, Scale
from calibrant.calibrators.cross_validated import CV, SEED
from calibrant.calibrators.logits import INPUT, input_scale
from calibrant.containers import to_numpy
from calibrant.entries import Entries, one_of, optional, plain
from calibrant.saving import saveable
from calibrant.selection.candidates import (
    UNCALIBRATED,
    Input,
    fed,
    named_calibrators,
    to_probabilities,
)
from calibrant.selection.comparing import compare_calibrators
from calibrant.selection.comparison import CalibratorComparison
from calibrant.selection.resampling import METRICS


@saveable
class AutoCalibration(Calibrator):
    r"""Automatic calibration: the calibrator that cross-validation recommends, or none.

    `fit` compares calibrators and the uncalibrated predictions out of fold, as
    `compare_calibrators` does, and takes the simplest candidate within one standard error of the
    best.

    Parameters
    ----------
    calibrators : sequence of calibrators or of (name, calibrator) pairs, optional
        What to choose from; by default all that suit the number of classes.
    input : {"probability", "logit"}, default="probability"
        What `X` holds. Each calibrator is given what it takes.
    cv : int, splitter or iterable, default=5
        As for `CrossValidated`: each class must have as many rows as there are folds. In a
        `CalibratedClassifier` these folds are of the rows that it calibrates on.
    metric : str, default="log_loss"
        What decides: one of the metrics of `compare_calibrators`.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the folds and of the resamples that standard errors come from.

    Attributes
    ----------
    comparison_ : CalibratorComparison
        How the candidates did. Not saved.
    selected_ : str
        The name of the candidate that was taken; "uncalibrated" where that is no calibrator.
    calibrator_ : calibrator or None
        That candidate, fitted on all rows. Without one, `predict_proba` gives back the
        probabilities that it is given (of logits: their probabilities).
    classes_ : numpy.ndarray of shape (K,)
        The labels, in the order of the columns.
    n_features_in_ : int
        1 if fitted on shape (n,), else the number of columns.

    Raises
    ------
    ValueError
        By `fit`, if no candidate at all can be fitted.

    See Also
    --------
    calibrant.selection.compare_calibrators : The comparison by itself.

    Notes
    -----
    What fitting warned of is in ``comparison_.notes``, what could not be fitted in
    ``comparison_.failures``. Cost: that of `compare_calibrators`.

    A row of weight w is one row, of one fold and of the resamples; only the calibrators' fits and
    the metrics count it w times. So weights may lead to another choice than repeated rows do, and
    repeated rows to a too flexible one, since copies of a row are on both sides of a fold.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A., & Stone, C. J. (1984). Classification and
    regression trees. Wadsworth. Section 3.4.3, the one-standard-error rule.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.selection import AutoCalibration
    >>> rng = np.random.default_rng(0)
    >>> logits = 3 * rng.normal(size=600)
    >>> y = rng.random(600) < 1 / (1 + np.exp(-logits / 2))
    >>> auto = AutoCalibration(input="logit", random_state=0).fit(logits, y)
    >>> auto.selected_
    'temperature'
    >>> auto.predict_proba([-2.0, 0.0, 2.0]).round(2)
    array([0.27, 0.5 , 0.73])
    """

    _parameters: ClassVar[Entries] = {
        "input": INPUT, "cv": CV, "metric": one_of(*METRICS), "random_state": SEED,
    }  # fmt: skip

    _state: ClassVar[Entries] = {
        "selected_": plain("a name", lambda value: isinstance(value, str)),
        "calibrator_": optional(
            plain(
                "a fitted calibrator",
                lambda value: isinstance(value, Calibrator) and value.__sklearn_is_fitted__(),
            )
        ),
    }

    comparison_: CalibratorComparison
    selected_: str
    calibrator_: Calibrator | None

    def __init__(
        self,
        calibrators: Sequence[Any] | None = None,
        *,
        input: Input = "probability",
        cv: Any = 5,
        metric: str = "log_loss",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.calibrators = calibrators
        self.input = input
        self.cv = cv
        self.metric = metric
        self.random_state = random_state

    @property
    def _scale(self) -> Scale:
        return input_scale(self.input)

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, labels: Any = None) -> Self:
        self._check_parameters()
        comparison = compare_calibrators(
            X,
            y,
            self.calibrators,
            input=self.input,
            cv=self.cv,
            metrics=(self.metric,),
            labels=labels,
            sample_weight=sample_weight,
            random_state=self.random_state,
        )
        shape = np.shape(to_numpy(X, "X"))
        self.classes_ = comparison.classes
        self.n_features_in_ = 1 if len(shape) == 1 else shape[1]
        self.comparison_ = comparison
        self.selected_ = comparison.recommended
        self.calibrator_ = comparison.calibrators.get(self.selected_)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = to_numpy(X, "X")
        scores = self._read(rows)
        self._check_columns(scores, inputs.column_names(X))
        if self.calibrator_ is None:
            return to_probabilities(scores, self.input).astype(np.float64)
        prob = self.calibrator_.predict_proba(fed(self.calibrator_, rows, self.input))
        return self._restore(prob, scores.ndim)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.calibrators, Iterator):
            raise ValueError("calibrators can be read only once: pass a list.")
        if self.calibrators is not None:
            named_calibrators(self.calibrators)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self.calibrator_ is None:
            if self.selected_ != UNCALIBRATED:
                raise ValueError(f"calibrator_ must be there, since selected_ is {self.selected_}.")
            return
        own, inner = self.classes_.tolist(), self.calibrator_.classes_.tolist()
        if own != inner:
            raise ValueError(f"classes_ must be those of calibrator_, {inner}, got {own}.")
