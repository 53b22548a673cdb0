"""Any scikit-learn classifier with calibrated probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params, check_is_fitted, column_or_1d

from calibrant import inputs
from calibrant.calibrators import OneVsRest, PlattScaling
from calibrant.calibrators.base import BinaryCalibrator, Calibrator
from calibrant.classifier.folds import fit_folds
from calibrant.classifier.pairs import CalibratedPair, fit_pair
from calibrant.classifier.routing import routed
from calibrant.classifier.scores import Codes, Method, Scores, response_method
from calibrant.entries import check, one_of
from calibrant.labels import labels_array
from calibrant.splits import Split, fold_of_each_row, read_splits

_METHODS = one_of("auto", "decision_function", "predict_proba")


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""A classifier whose probabilities are calibrated on rows that it was not fitted on.

    With ``ensemble=False``, clones of the classifier say of each row what they make of it without
    having seen it; one calibrator is fitted to all of that, and the classifier itself on all rows.
    With ``ensemble=True`` each clone is kept and calibrated by the rows it was not fitted on, and

    .. math:: q(x) = \frac{1}{V} \sum_{v=1}^V f^{(v)}\left(s^{(-v)}(x)\right).

    Parameters
    ----------
    estimator : classifier, optional
        Has `decision_function` or `predict_proba`; ``LinearSVC(random_state=0)`` by default, as in
        scikit-learn. A fitted one in a ``sklearn.frozen.FrozenEstimator`` is left as it is, and
        calibrated by all rows given to `fit`: they must be others than it was fitted on.
    calibrator : calibrator, optional
        Any calibrator of this package, `PlattScaling` by default. One that is for two classes
        only is fitted one class against the rest where there are more (`OneVsRest`).
    cv : int, splitter or iterable, default=5
        The number of folds of ``StratifiedKFold``, or anything that scikit-learn splits by.
    ensemble : bool or "auto", default=False
        One classifier fitted on all rows, or the average over folds. "auto", scikit-learn's
        default, is false for a frozen classifier and true for others.
    method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What the calibrator is fed from. "auto" is `decision_function` for calibrators that take
        scores or logits, and for isotonic regression, which minds their order only;
        `predict_proba` for calibrators that take probabilities; the other one where a classifier
        has one only.
    n_jobs : int, optional
        Folds at a time, as in scikit-learn.

    Attributes
    ----------
    classes_ : numpy.ndarray of shape (K,)
        The sorted labels; those of the classifier if it is frozen.
    calibrated_classifiers_ : list
        Pairs with the attributes `estimator` and `calibrator`: one, or one for each fold.
    n_features_in_, feature_names_in_
        As the classifier gives them.

    Raises
    ------
    ValueError
        By `fit`, if a parameter is not of the described kind, if the folds leave fewer than two
        classes to calibrate, or as the classifier and the calibrator do.

    Warns
    -----
    UserWarning
        If there is a `sample_weight` that the classifier does not take: it is used for the
        calibrator only.

    See Also
    --------
    calibrant.selection.AutoCalibration : A calibrator that is chosen by cross-validation.
    sklearn.calibration.CalibratedClassifierCV : Does the same for three kinds of calibrators.

    Notes
    -----
    Decision values are made into what a calibrator takes: log-odds, or logits of a softmax, become
    probabilities by the logistic function (of each class where that is one against the rest) or
    the softmax. Decision values d of two classes are logits (-d/2, d/2) to calibrators that need
    two columns. Probabilities become logits by the logit, or by the log if there are more than
    two, both clipped.

    A class that some fold has no rows of to fit on (or to calibrate on, with ``ensemble=True``)
    is not calibrated there: it keeps the probability that the classifier gives it, zero if it does
    not know it, and the calibrated classes share the rest.

    ``PlattScaling()``, ``IsotonicCalibration()`` and ``TemperatureScaling()`` give what
    scikit-learn's "sigmoid", "isotonic" and "temperature" do, up to the accuracy of its solvers;
    but its isotonic regression ties probabilities that differ by less than 1e-15, and its
    temperature scaling adds 1e-12 to probabilities, which tells where they are that close to zero.

    Cost: fits of the classifier and its predictions on n rows, one more fit without ``ensemble``,
    and those of the calibrator, O(n) or O(n log n) mostly.

    References
    ----------
    Niculescu-Mizil, A., & Caruana, R. (2005). Predicting good probabilities with supervised
    learning. ICML 2005, 625-632. https://doi.org/10.1145/1102351.1102430

    Examples
    --------
    >>> from calibrant import BetaCalibration
    >>> from calibrant.classifier import CalibratedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(n_samples=500, random_state=0)
    >>> model = CalibratedClassifier(GaussianNB(), BetaCalibration()).fit(X, y)
    >>> model.predict_proba(X[:2]).round(2)
    array([[0.54, 0.46],
           [0.02, 0.98]])
    """

    classes_: NDArray[Any]
    calibrated_classifiers_: list[CalibratedPair]

    def __init__(
        self,
        estimator: Any = None,
        calibrator: Calibrator | None = None,
        *,
        cv: int | Iterable[Split] | Any = 5,
        ensemble: bool | Literal["auto"] = False,
        method: Method = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.ensemble = ensemble
        self.method = method
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the classifier and the calibrator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            What the classifier takes.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), optional
            Weights, for the classifier if it takes any (or if metadata routing says so) and for
            the calibrator.
        **fit_params
            Passed on to `fit` of the classifier, or routed.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_parameters()
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "O":
            y = labels_array(y, "y")
        check_classification_targets(y)
        weight = inputs.as_weights(sample_weight, len(y))
        for_estimator, for_splitter = routed(self, sample_weight, fit_params)
        classes, codes = self._classes(y)
        calibrator = self._calibrator(len(classes))
        estimator = self._classifier()
        frozen = isinstance(estimator, FrozenEstimator)
        ensemble = not frozen if self.ensemble == "auto" else self.ensemble
        response = response_method(estimator, calibrator, self.method)

        def paired(fitted: Any, *held_out: tuple[Codes, Scores]) -> CalibratedPair:
            return fit_pair(fitted, calibrator, held_out, codes, weight, classes)

        if frozen and not ensemble:
            scores = Scores.of(estimator, X, response, classes)
            pairs = [paired(estimator, (np.arange(len(y)), scores))]
        else:
            pairs_of_rows = check_cv(self.cv, y, classifier=True).split(X, y, **for_splitter)
            splits = read_splits(pairs_of_rows, len(y))
            folds = fit_folds(
                estimator, X, y, splits, response, classes, for_estimator, self.n_jobs
            )
            tests = [test for _, test in splits]
            held_out = [(test, scores) for test, (_, scores) in zip(tests, folds, strict=True)]
            if ensemble:
                pairs = [paired(fold[0], own) for fold, own in zip(folds, held_out, strict=True)]
            else:
                fold_of_each_row(splits, len(y), unless=", unless ensemble=True")
                own = _check_method_params(X, params=for_estimator)
                pairs = [paired(clone(estimator).fit(X, y, **own), *held_out)]
        self.classes_, self.calibrated_classifiers_ = classes, pairs
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(pairs[0].estimator, name):
                setattr(self, name, getattr(pairs[0].estimator, name))
            elif hasattr(self, name):  # of an earlier fit
                delattr(self, name)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            What the classifier takes.

        Returns
        -------
        numpy.ndarray of shape (n, K)
            Rows sum to one; columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        total: Any = 0.0
        for pair in self.calibrated_classifiers_:
            total = total + pair.predict_proba(X)
        mean: NDArray[np.float64] = total / len(self.calibrated_classifiers_)
        return mean

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest calibrated probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            What the classifier takes.

        Returns
        -------
        numpy.ndarray of shape (n,)
            Labels.
        """
        check_is_fitted(self)
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    def get_metadata_routing(self) -> MetadataRouter:
        """Who asks for which metadata, as in scikit-learn's user guide."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(estimator=self._classifier(), method_mapping=to_fit)
            .add(splitter=self.cv, method_mapping=to_split)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self._classifier()).input_tags
        tags.input_tags.sparse = of_estimator.sparse
        tags.input_tags.allow_nan = of_estimator.allow_nan
        return tags

    def _check_parameters(self) -> None:
        check(_METHODS, "method", self.method)
        if not hasattr(self._classifier(), "fit") or isinstance(self.estimator, type):
            raise ValueError(f"estimator must be a classifier, got {self.estimator!r:.80}.")
        if self.calibrator is not None and not isinstance(self.calibrator, Calibrator):
            raise ValueError(
                "calibrator must be None or a calibrator such as PlattScaling(), got "
                f"{self.calibrator!r:.80}."
            )
        if not isinstance(self.ensemble, bool | np.bool_) and self.ensemble != "auto":
            raise ValueError(f"ensemble must be true, false or 'auto', got {self.ensemble!r}.")
        if isinstance(self.cv, str):
            raise ValueError(
                f"cv must be a number of folds or a splitter, got {self.cv!r}: put a classifier "
                "that is fitted already into sklearn.frozen.FrozenEstimator."
            )

    def _classifier(self) -> Any:
        return LinearSVC(random_state=0) if self.estimator is None else self.estimator

    def _calibrator(self, n_classes: int) -> Calibrator:
        """The calibrator, made to fit the number of classes."""
        calibrator = PlattScaling() if self.calibrator is None else self.calibrator
        if n_classes > 2 and isinstance(calibrator, BinaryCalibrator):
            return OneVsRest(calibrator)
        return calibrator

    def _classes(self, y: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
        """The classes, and the place of each label among them."""
        classes = np.unique(y)
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            unknown = np.setdiff1d(classes, self.estimator.classes_)
            if len(unknown):
                raise ValueError(
                    f"y holds the label {unknown.tolist()[0]!r}, which is not among the classes of "
                    "the frozen estimator: leave such rows out."
                )
            classes = np.unique(self.estimator.classes_)
        return classes, np.searchsorted(classes, y)
