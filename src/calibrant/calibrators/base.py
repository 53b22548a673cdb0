"""What every calibrator does: read the scores, fit, predict in the shape it was given, save."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from calibrant import inputs
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


class Calibrator(SavedEstimator):
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

    def fit_frame(
        self,
        frame: Any,
        *,
        y: str,
        prob: str | Sequence[str],
        sample_weight: str | None = None,
        labels: Any = None,
        pos_label: Any = None,
    ) -> Self:
        """Fit to the columns of a data frame, by sums that the engine which holds it computes.

        For Platt, beta, temperature and vector scaling, histogram binning, isotonic calibration,
        and `OneVsRest` of those.

        Parameters
        ----------
        frame : data frame or lazy frame
            Of Polars, pandas, PyArrow, DuckDB, Dask, PySpark or another engine that narwhals knows.
        y : str
            The column of labels.
        prob : str or sequence of str
            The column of scores or probabilities of the event; or those of all classes, in their
            order.
        sample_weight : str, optional
            The column of weights.
        labels : sequence of labels, optional
            As in `fit`. Without it, one pass more finds the labels.
        pos_label : label, optional
            In place of `labels`: the one of two labels that is predicted, by default the second.

        Returns
        -------
        self
            The fitted calibrator, as `fit` to the same columns gives it: predictions agree to 1e-8.

        Raises
        ------
        ValueError
            If a column is not of the described kind, or the calibrator cannot be fitted by sums.

        Notes
        -----
        One pass checks the rows; Platt scaling then takes some 6 to 9 passes, beta calibration
        some 12 and temperature scaling 10, vector scaling some three more than Newton's steps, of
        O(K^2) sums each, histogram binning 1 (quantile bins: 3 more, whole-number weights only).
        Isotonic calibration collects probabilities and classes: all of them up to 8 million rows,
        else range by range, as many rows at a time.

        Examples
        --------
        >>> import pandas as pd
        >>> from calibrant import PlattScaling
        >>> frame = pd.DataFrame({"s": [-2.0, -1.0, -0.5, 0.5, 1.0, 3.0], "y": [0, 0, 1, 0, 1, 1]})
        >>> round(PlattScaling().fit_frame(frame, y="y", prob="s").slope_, 4)
        0.5308
        """
        from calibrant.engines.fits import fit_calibrator

        fit_calibrator(self, frame, y, prob, sample_weight, labels, pos_label)
        return self

    def transform_frame(
        self,
        frame: Any,
        *,
        prob: str | Sequence[str],
        name: str | Sequence[str] | None = None,
    ) -> Any:
        """A data frame with calibrated columns, computed by the engine that holds the data.

        Parameters
        ----------
        frame : data frame or lazy frame
            Of Polars, pandas, PyArrow, DuckDB, Dask, PySpark or another engine that narwhals knows.
        prob : str or sequence of str
            The column of scores or probabilities, where the calibrator was fitted on shape (n,);
            else the columns, in the order of ``classes_``.
        name : str or sequence of str, optional
            What the new columns are called; by default as the old ones, with "_calibrated".

        Returns
        -------
        data frame or lazy frame
            Of the kind that was given, with the new columns last. Lazy stays lazy. The numbers are
            those of `predict_proba`, to about 1e-12 of their size (below 1e-300: to 1e-300). Rows
            that `predict_proba` would refuse (missing, NaN, outside of [0, 1], not summing to one)
            get NULL.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If `fit` was not called.
        ValueError
            If a column is not there or a new one is, if the columns do not fit the calibrator, or
            if its map has no formula.

        Notes
        -----
        Isotonic and histogram maps of many pieces are looked up by binary search, in engines that
        run Python (Polars, pandas, PyArrow, Dask); others get a balanced tree of CASE.

        Examples
        --------
        >>> import pandas as pd
        >>> from calibrant import HistogramBinning
        >>> histogram = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7], [0, 1, 0, 1])
        >>> histogram.transform_frame(pd.DataFrame({"p": [0.4, 0.5]}), prob="p")
             p  p_calibrated
        0  0.4           0.5
        1  0.5           0.5
        """
        from calibrant.engines.applying import add_calibrated

        return add_calibrated(self, frame, prob, name)

    def to_sql(
        self,
        columns: str | Sequence[str],
        *,
        dialect: Literal["duckdb", "postgres", "spark", "bigquery"] = "duckdb",
    ) -> Any:
        """The calibration map as an SQL expression.

        Parameters
        ----------
        columns : str or sequence of str
            The name of the column of scores or probabilities, where the calibrator was fitted on
            shape (n,); else the names of the columns, in the order of ``classes_``. Names are
            quoted.
        dialect : {"duckdb", "postgres", "spark", "bigquery"}, default="duckdb"
            How names and numbers are written.

        Returns
        -------
        str or list of str
            An expression for each column. Numbers and NULL as in `transform_frame`. With K classes
            the texts have O(K^2) terms in all, for Dirichlet calibration O(K^3).

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If `fit` was not called.
        ValueError
            If the columns do not fit the calibrator, `dialect` is none of the options, or the map
            has no formula.

        Examples
        --------
        >>> from calibrant import HistogramBinning
        >>> histogram = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7], [0, 1, 1, 1])
        >>> print(histogram.to_sql("p", dialect="spark"))
        CASE WHEN (CAST(`p` AS DOUBLE) - CAST(`p` AS DOUBLE)) BETWEEN 0.0e0D AND 0.0e0D
        AND CAST(`p` AS DOUBLE) BETWEEN 0.0e0D AND 1.0e0D THEN
        CASE WHEN CAST(`p` AS DOUBLE) < 0.5e0D THEN 0.5e0D ELSE 1.0e0D END END
        """
        from calibrant.engines.sql import sql_expressions

        return sql_expressions(self, columns, dialect)

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
