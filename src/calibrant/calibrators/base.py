"""What every calibrator does: read the scores, fit, predict in the shape it was given, save."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from calibrant import inputs
from calibrant.calibrators.frame_methods import FrameMethods
from calibrant.entries import LABELS, Entries, Entry, check, count, plain
from calibrant.estimators import SavedEstimator
from calibrant.inputs import FloatArray

Scale = Literal["probability", "column", "score"]

_READERS = {
    "probability": inputs.as_probabilities,
    "column": inputs.as_columns,
    "score": inputs.as_scores,
}


def warn_not_converged(message: str) -> None:
    """Tell the user that an optimum was not reached, or does not exist."""
    warnings.warn(message, ConvergenceWarning, stacklevel=4)


class Calibrator(FrameMethods, SavedEstimator):
    """Base class: a map from scores or probabilities to calibrated probabilities.

    Subclasses give `_scale`, how the input is read; `_parameters` and `_state`, what the parameters
    look like and the fitted attributes that prediction needs, which are what is saved; and `_fit`
    and `_predict` over clean arrays.
    """

    _n_features: ClassVar[Entry] = count(1)

    classes_: NDArray[Any]
    n_features_in_: int

    @property
    def _scale(self) -> Scale:
        return "probability"

    @abstractmethod
    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        """Calibrated probabilities, of the shape of `scores`."""

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, labels: Any = None) -> Self:
        """Fit the calibration map.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 2) or (n, K)
            Scores or probabilities that a model gave, as the class describes.
        y : array-like of shape (n,)
            What happened: labels of any kind. The classes are the sorted labels, as in
            scikit-learn; with (n,) input the second one is the event that is predicted.
        sample_weight : array-like of shape (n,), optional
            Weights; an integer weight means the same as repeating the row.
        labels : sequence of labels, optional
            The classes in the order of the columns, where it is not the sorted order or where
            a class does not occur in `y`. A data frame's column names serve too.

        Returns
        -------
        self
            The fitted calibrator.

        Raises
        ------
        ValueError
            If the input or a parameter is not of the described kind; the message says where and
            what to do.
        """
        self._check_parameters()
        scores = self._read(X)
        columns = 2 if scores.ndim == 1 else scores.shape[1]
        codes, classes = inputs.as_classes(
            y, columns, labels=labels, names=inputs.column_names(X), name="y"
        )
        inputs.check_lengths(X=scores, y=codes)
        weight = inputs.as_weights(sample_weight, len(codes))
        if weight is not None and not weight.all():
            # A weight of zero means that the row is not there.
            there = weight > 0
            scores, codes, weight = scores[there], codes[there], weight[there]
        self._check_classes(codes, classes)
        self.classes_ = classes
        self.n_features_in_ = 1 if scores.ndim == 1 else columns
        self._fit(self._native(scores), codes, weight)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Calibrated probabilities of new rows.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 2) or (n, K)
            Scores or probabilities on the scale that the calibrator was fitted on.

        Returns
        -------
        numpy.ndarray of float64, of the shape of `X`
            Within [0, 1]; (n,) holds the probability of ``classes_[1]``, rows of (n, K) sum to
            one, with columns in the order of ``classes_``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If `fit` was not called.
        ValueError
            If `X` is not of the kind that the calibrator was fitted on.
        """
        check_is_fitted(self)
        scores = self._read(X)
        self._check_columns(scores, inputs.column_names(X))
        return self._restore(self._predict(self._native(scores)), scores.ndim)

    @classmethod
    def _fitted(cls) -> Entries:
        """What all fitted attributes that are saved look like."""
        return {"classes_": LABELS, "n_features_in_": cls._n_features, **cls._state}

    def _check_fitted(self) -> None:
        """Raise ValueError for fitted attributes that do not belong together."""
        columns = max(2, self.n_features_in_)
        if len(self.classes_) != columns:
            raise ValueError(
                f"classes_ must hold {columns} labels, since n_features_in_ is "
                f"{self.n_features_in_}, but has {len(self.classes_)}."
            )

    def _read(self, X: Any) -> FloatArray:
        return _READERS[self._scale](X, "X")

    def _native(self, scores: FloatArray) -> FloatArray:
        """The scores in the shape that `_fit` and `_predict` work on."""
        return scores

    def _restore(self, prob: NDArray[np.float64], ndim: int) -> NDArray[np.float64]:
        """Predictions in the shape of the input, which had `ndim` dimensions."""
        return prob if prob.ndim == ndim else np.column_stack([1.0 - prob, prob])

    def _check_classes(self, codes: NDArray[np.intp], classes: NDArray[Any]) -> None:
        """Raise ValueError where a class that the method needs does not occur."""

    def _check_columns(self, scores: FloatArray, names: tuple[str, ...] | None) -> None:
        columns = 1 if scores.ndim == 1 else scores.shape[1]
        if columns != self.n_features_in_:
            raise ValueError(
                f"X has shape {scores.shape}, but the calibrator was fitted on "
                + ("shape (n,)." if self.n_features_in_ == 1 else f"{self.n_features_in_} columns.")
            )
        expected = [str(label) for label in self.classes_.tolist()]
        if names is not None and set(names) == set(expected) and list(names) != expected:
            raise ValueError(
                f"the columns of X are {list(names)}, but the classes of the calibrator are in the "
                f"order {expected}: put the columns in that order."
            )


def check_clone(value: Any, name: str, base: Calibrator, n_features: int) -> None:
    """Raise ValueError unless the value is a fitted clone of `base`, for input of that width."""
    kind = type(base)
    clone = plain(
        f"a fitted {kind.__name__} with n_features_in_ = {n_features}",
        lambda value: (
            type(value) is kind
            and value.__sklearn_is_fitted__()
            and value.n_features_in_ == n_features
        ),
    )
    check(clone, name, value)


class BinaryCalibrator(Calibrator):
    """A map of one column: (n,) scores, or the second column of (n, 2) probabilities."""

    _n_features = count(1, 2)

    def _native(self, scores: FloatArray) -> FloatArray:
        if scores.ndim == 1:
            return scores
        if scores.shape[1] != 2:
            raise ValueError(
                f"{type(self).__name__} is for two classes, but X has {scores.shape[1]} columns: "
                f"use OneVsRest({type(self).__name__}()), or a multiclass calibrator."
            )
        if self._scale == "score":
            # Two columns of free scores do not say which number to use; probabilities do.
            inputs.as_probabilities(scores, "X")
        return np.ascontiguousarray(scores[:, 1])

    def _check_classes(self, codes: NDArray[np.intp], classes: NDArray[Any]) -> None:
        present = np.bincount(codes, minlength=len(classes)) > 0
        if not present.all():
            absent = classes[~present][0].item()
            raise ValueError(
                f"{type(self).__name__} needs both classes, but {absent!r} does not occur in y "
                "(in a row of positive weight): fit on data that has it."
            )
