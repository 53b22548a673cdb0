"""Out-of-fold calibrated predictions, and the calibrator fitted on everything."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from calibrant import inputs
from calibrant.calibrators.base import Calibrator, check_clone
from calibrant.containers import to_numpy
from calibrant.entries import Entries, is_whole, optional, plain
from calibrant.inputs import FloatArray
from calibrant.saving import saveable
from calibrant.splits import Split, fold_of_each_row, read_splits

_BASE = plain("a calibrator", lambda value: isinstance(value, Calibrator))


def _is_cv(value: Any) -> bool:
    if is_whole(value):
        return bool(value >= 2)
    return hasattr(value, "split") or isinstance(value, Iterable)


CV = plain(
    "an integer of at least 2, a splitter, or an iterable of pairs of row numbers",
    lambda value: not isinstance(value, str | bytes | type) and _is_cv(value),
)
SEED = optional(
    plain(
        "an integer from 0 to 2^32 - 1 or a numpy.random.Generator",
        lambda value: (
            (is_whole(value) and 0 <= value < 2**32)
            or isinstance(value, np.random.Generator | np.random.RandomState)
        ),
    )
)


@saveable
class CrossValidated(Calibrator):
    r"""Cross-validated calibration: out-of-fold predictions to judge the map by.

    For each fold v, a clone of the base is fitted on the rows outside of it and predicts the
    rows inside, :math:`\hat q_i = \hat f^{(-v)}(x_i)` for i in fold v. New data is predicted by
    another clone, fitted on all rows.

    Parameters
    ----------
    base : calibrator
        Any unfitted calibrator, OneVsRest included.
    cv : int, splitter or iterable, default=5
        The number of folds of ``StratifiedKFold(cv, shuffle=True, random_state=random_state)``; or
        any object with ``split(X, y)``, as in scikit-learn; or an iterable of pairs of training and
        test indices. Every row must be in exactly one test fold.
    random_state : int, numpy.random.Generator or None, default=None
        Shuffles the folds where `cv` is an integer. A generator is drawn from once.

    Attributes
    ----------
    oof_predictions_ : numpy.ndarray of the shape of `X`
        What each row was predicted by a calibrator that had not seen it.
    fold_id_ : numpy.ndarray of int, shape (n,)
        The fold, from 0, that each row was in.
    calibrators_ : list of calibrators
        The calibrator fitted outside of each fold.
    calibrator_ : calibrator
        The one fitted on all rows, which `predict_proba` uses.
    classes_ : numpy.ndarray of shape (K,)
        The labels, in the order of the columns.
    n_features_in_ : int
        1 if fitted on shape (n,), else the number of columns.

    Raises
    ------
    ValueError
        By `fit`, if a class has fewer members than there are folds, if the splits do not hold every
        row out exactly once or train on a row that they hold out, or if a fold cannot be fitted
        (the message names the fold). By `save`, if `cv` is not an integer.

    Notes
    -----
    The predictions are out of fold for the calibration map only: the model that made `X` should not
    have been trained on the same rows. A row of weight w is one row of one fold, so that integer
    weights give another set of folds than repeated rows do; `calibrator_` is the same for both.
    Rows of weight zero are in folds and get predictions, too. A class of which a training fold has
    no row is passed on to the base, which may accept it.

    Saving keeps `calibrator_`; the predictions of this fit's own rows and their folds are not
    saved. Cost: one fit more than there are folds.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import CrossValidated, HistogramBinning
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.random(200)
    >>> y = rng.random(200) < prob**2
    >>> fitted = CrossValidated(HistogramBinning(n_bins=4), cv=4, random_state=0).fit(prob, y)
    >>> fitted.oof_predictions_.shape, np.bincount(fitted.fold_id_)
    ((200,), array([50, 50, 50, 50]))
    """

    _parameters: ClassVar[Entries] = {"base": _BASE, "cv": CV, "random_state": SEED}
    _state: ClassVar[Entries] = {"calibrator_": _BASE}

    calibrator_: Calibrator
    calibrators_: list[Calibrator]
    oof_predictions_: NDArray[np.float64]
    fold_id_: NDArray[np.intp]

    def __init__(
        self,
        base: Calibrator,
        *,
        cv: int | Iterable[Split] | Any = 5,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.base = base
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, labels: Any = None) -> Self:
        self._check_parameters()
        names = inputs.column_names(X)
        # The dtype as it came decides how exactly rows must sum to one, in each fold as in all.
        rows = to_numpy(X, "X")
        scores = self.base._read(rows)
        n_classes = 2 if scores.ndim == 1 else scores.shape[1]
        codes, classes = inputs.as_classes(y, n_classes, labels=labels, names=names, name="y")
        inputs.check_lengths(X=scores, y=codes)
        weight = inputs.as_weights(sample_weight, len(codes))
        splits = self._splits(scores, codes, classes)
        fold_id = fold_of_each_row(splits, len(codes))
        y = classes[codes]
        final = clone(self.base).fit(rows, y, sample_weight=weight, labels=classes)
        calibrators = []
        predictions = np.empty(scores.shape)
        for fold, (train, test) in enumerate(splits):
            calibrator = clone(self.base)
            held_in = None if weight is None else weight[train]
            try:
                calibrator.fit(rows[train], y[train], sample_weight=held_in, labels=classes)
            except ValueError as error:
                raise ValueError(f"the training rows of fold {fold}: {error}") from error
            predictions[test] = calibrator.predict_proba(rows[test])
            calibrators.append(calibrator)
        self.classes_ = classes
        self.n_features_in_ = final.n_features_in_
        self.calibrator_ = final
        self.calibrators_ = calibrators
        self.oof_predictions_ = predictions
        self.fold_id_ = fold_id
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.calibrator_.predict_proba(X)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        check_clone(self.calibrator_, "calibrator_", self.base, self.n_features_in_)
        own, inner = self.classes_.tolist(), self.calibrator_.classes_.tolist()
        if own != inner:
            raise ValueError(f"classes_ must be those of calibrator_, {inner}, got {own}.")

    def to_dict(self) -> dict[str, Any]:
        for name in ("cv", "random_state"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Integral):
                raise ValueError(
                    f"{name} is a {type(value).__name__}, which cannot be saved as JSON: save the "
                    "attribute calibrator_ instead, which predicts the same."
                )
        return super().to_dict()

    def _splits(
        self, scores: FloatArray, codes: NDArray[np.intp], classes: NDArray[Any]
    ) -> list[Split]:
        if isinstance(self.cv, Integral):
            _check_members(codes, classes, int(self.cv))
            seed = self.random_state
            if isinstance(seed, np.random.Generator):
                seed = int(seed.integers(2**32))
            cv = StratifiedKFold(int(self.cv), shuffle=True, random_state=seed)
        else:
            cv = self.cv
        pairs = cv.split(scores, classes[codes]) if hasattr(cv, "split") else cv
        return read_splits(pairs, len(codes))


def _check_members(codes: NDArray[np.intp], classes: NDArray[Any], n_folds: int) -> None:
    members = np.bincount(codes, minlength=len(classes))
    few = np.flatnonzero((members > 0) & (members < n_folds))
    if len(few):
        count = int(members[few[0]])
        raise ValueError(
            f"class {classes[few[0]].item()!r} has {count} row{'s' * (count != 1)}, fewer than the "
            f"{n_folds} folds: lower cv, or leave the class out."
        )


def without_folds(calibrator: Calibrator) -> Calibrator:
    """What `CrossValidated` holds, others as they are."""
    while isinstance(calibrator, CrossValidated):
        calibrator = calibrator.base
    return calibrator
