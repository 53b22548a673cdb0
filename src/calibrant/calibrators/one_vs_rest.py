"""One binary calibrator a class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from calibrant.calibrators.base import BinaryCalibrator, Calibrator, Scale, check_clone
from calibrant.calibrators.multiclass import MulticlassCalibrator
from calibrant.calibrators.temperature import TemperatureScaling
from calibrant.entries import Entries, plain
from calibrant.inputs import FloatArray
from calibrant.saving import saveable

_BASE = plain(
    "an instance of PlattScaling, BetaCalibration, IsotonicCalibration, HistogramBinning or "
    "TemperatureScaling, which can be fitted one class at a time",
    lambda value: isinstance(value, BinaryCalibrator | TemperatureScaling),
)


@saveable
class OneVsRest(MulticlassCalibrator):
    r"""One-vs-rest: a binary calibrator for each class, then rows scaled to sum to one.

    A clone :math:`f_k` of the base is fitted to column k and the event "class k happened". A
    new row is predicted as

    .. math:: q_{ik} = f_k(x_{ik}) \Big/ \sum_{l=1}^K f_l(x_{il})

    and as the uniform 1 / K where that sum is zero or not finite.

    Parameters
    ----------
    base : calibrator
        An unfitted calibrator for two classes: PlattScaling (scores or probabilities),
        BetaCalibration, IsotonicCalibration or HistogramBinning (probabilities), or
        TemperatureScaling (the logits of each class against the rest).

    Attributes
    ----------
    calibrators_ : list of K calibrators
        The fitted clones of `base`, in the order of `classes_`.
    classes_ : numpy.ndarray of shape (K,)
        The labels, in the order of the columns.
    n_features_in_ : int
        K.

    Raises
    ------
    ValueError
        By `fit`, if `base` is not a calibrator for two classes, or a class does not occur in `y`.

    See Also
    --------
    DirichletCalibration, VectorScaling, TemperatureScaling : Multiclass by themselves.

    Notes
    -----
    The input has shape (n, K), K >= 2; its rows need not sum to one. With two columns, both
    get a calibrator of their own. The calibrated columns are not the binary calibrators'
    predictions any more once a row was rescaled, and one-vs-rest calibration does not by itself
    give joint calibration. Cost: K times that of the base.

    References
    ----------
    Zadrozny, B., & Elkan, C. (2002). Transforming classifier scores into accurate multiclass
    probability estimates. KDD 2002, 694-699. https://doi.org/10.1145/775047.775151

    Examples
    --------
    >>> from calibrant import HistogramBinning, OneVsRest
    >>> prob = [[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6], [0.6, 0.3, 0.1]]
    >>> calibrated = OneVsRest(HistogramBinning(n_bins=2)).fit(prob, ["a", "b", "c", "b"])
    >>> calibrated.predict_proba([[0.9, 0.1, 0.0]]).round(4)
    array([[0.6, 0.4, 0. ]])
    """

    _parameters: ClassVar[Entries] = {"base": _BASE}
    _state: ClassVar[Entries] = {
        "calibrators_": plain("a list", lambda value: isinstance(value, list))
    }

    calibrators_: list[Calibrator]

    def __init__(self, base: Calibrator) -> None:
        self.base = base

    @property
    def _scale(self) -> Scale:
        return "score" if self.base._scale == "score" else "column"

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if len(self.calibrators_) != len(self.classes_):
            raise ValueError(
                f"calibrators_ must have an entry for each of the {len(self.classes_)} classes, "
                f"but has {len(self.calibrators_)}."
            )
        for k, calibrator in enumerate(self.calibrators_):
            check_clone(calibrator, f"calibrators_[{k}]", self.base, 1)

    def _check_classes(self, codes: NDArray[np.intp], classes: NDArray[Any]) -> None:
        absent = np.flatnonzero(np.bincount(codes, minlength=len(classes)) == 0)
        if len(absent):
            raise ValueError(
                f"class {classes[absent[0]].item()!r} does not occur in y (in a row of positive "
                "weight), and its calibrator needs cases of it: leave its column out, or fit on "
                "data that has it."
            )

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        self.calibrators_ = [
            clone(self.base).fit(column, codes == k, sample_weight=weight)
            for k, column in enumerate(scores.T)
        ]

    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        prob = np.empty(scores.shape)
        for k, calibrator in enumerate(self.calibrators_):
            prob[:, k] = calibrator.predict_proba(scores[:, k])
        total = prob.sum(axis=1)
        usable = np.isfinite(total) & (total > 0)
        prob[~usable] = 1.0
        total[~usable] = len(self.calibrators_)
        prob /= total[:, np.newaxis]
        return prob
