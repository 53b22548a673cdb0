"""Isotonic regression: the best nondecreasing map, joined by straight lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import BinaryCalibrator
from calibrant.entries import Entries, array
from calibrant.inputs import FloatArray
from calibrant.saving import saveable

# Rows sorted and interpolated at a time: small enough for the processor's cache.
_BLOCK = 32_768


@dataclass(frozen=True, slots=True)
class Pools:
    """Consecutive ranges of probabilities, each with its total weight and that of the events.

    All fields are (m,) arrays; `first` and `last` are the smallest and the largest probability.
    """

    first: NDArray[np.float64]
    last: NDArray[np.float64]
    total: NDArray[np.float64]
    events: NDArray[np.float64]

    @classmethod
    def of_rows(
        cls, scores: FloatArray, codes: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> Pools:
        """One for each distinct score; codes are 1 for events, else 0."""
        order = np.argsort(scores)
        ordered = scores[order]
        starts = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
        if weight is None:
            total = np.diff(starts, append=len(ordered)).astype(np.float64)
            events = np.add.reduceat(codes[order], starts, dtype=np.intp).astype(np.float64)
        else:
            total = np.add.reduceat(weight[order], starts)
            events = np.add.reduceat((weight * codes)[order], starts)
        points = ordered[starts].astype(np.float64)
        return cls(points, points, total, events)

    def pooled(self) -> Pools:
        """Adjacent violators pooled, so that the frequencies ascend."""
        from scipy.optimize import isotonic_regression

        bounds = isotonic_regression(self.events / self.total, weights=self.total).blocks
        starts, ends = bounds[:-1], bounds[1:] - 1
        total, events = (np.add.reduceat(sums, starts) for sums in (self.total, self.events))
        return Pools(self.first[starts], self.last[ends], total, events)


@saveable
class IsotonicCalibration(BinaryCalibrator):
    r"""Isotonic calibration: a nondecreasing map fitted by pooling adjacent violators.

    The fitted values :math:`m_i` at the probabilities :math:`p_1 \le \dots \le p_n` solve

    .. math:: \min_{m_1 \le \dots \le m_n} \sum_i w_i (y_i - m_i)^2,
              \qquad m_i = m_j \text{ where } p_i = p_j.

    New probabilities are interpolated linearly between the probabilities seen, and get the first
    or the last fitted value outside of their range.

    Attributes
    ----------
    X_thresholds_ : numpy.ndarray of shape (m,)
        Distinct probabilities, ascending. Those inside a flat stretch are left out: the map
        is the same without them.
    y_thresholds_ : numpy.ndarray of shape (m,)
        Fitted values at `X_thresholds_`.
    classes_ : numpy.ndarray of shape (2,)
        The labels; the second one is the event that is predicted.
    n_features_in_ : int
        1 if fitted on shape (n,), 2 if on (n, 2).

    See Also
    --------
    HistogramBinning : Constant within bins, not necessarily monotone.
    OneVsRest : For more than two classes.

    Notes
    -----
    Equal probabilities are ordered with the positive labels first before pooling, and share the
    mean of what was fitted to them. Labels that descend within a tie always end up in one pool, so
    this is the same as weighted pooling of one mean label a distinct probability, which is what is
    computed. scikit-learn's ``IsotonicRegression(out_of_bounds="clip")`` gives the same map, except
    that it also ties probabilities that differ by less than 1e-15 (float32: 1e-6).

    Fitting is one sort, O(n log n) time and O(n) memory; predicting n rows with m thresholds is
    O(n log m). There is no `loss_`: the fit is not one of likelihood.

    References
    ----------
    Zadrozny, B., & Elkan, C. (2002). Transforming classifier scores into accurate multiclass
    probability estimates. KDD 2002, 694-699. https://doi.org/10.1145/775047.775151

    Examples
    --------
    >>> from calibrant import IsotonicCalibration
    >>> isotonic = IsotonicCalibration().fit([0.1, 0.3, 0.4, 0.6, 0.8], [0, 1, 0, 1, 1])
    >>> isotonic.predict_proba([0.0, 0.2, 0.35, 0.5, 0.9])
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    _scale = "probability"
    _state: ClassVar[Entries] = {
        "X_thresholds_": array("m", low=0, high=1, order="ascending"),
        "y_thresholds_": array("m", low=0, high=1, order="not descending"),
    }

    X_thresholds_: NDArray[np.float64]
    y_thresholds_: NDArray[np.float64]

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        self._keep(Pools.of_rows(scores, codes, weight).pooled())

    def _keep(self, pools: Pools) -> None:
        # The pools' means from their sums have one rounding, whatever way the pools were merged;
        # where that leaves neighbours equal up to rounding, they must not descend.
        values = np.maximum.accumulate(pools.events / pools.total)
        ends = np.column_stack([pools.first, pools.last]).ravel()
        kept = np.concatenate([[True], ends[1:] != ends[:-1]])
        self.X_thresholds_ = ends[kept]
        self.y_thresholds_ = np.repeat(values, 2)[kept]

    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        knots, values = self.X_thresholds_, self.y_thresholds_
        upper = np.append(values[1:], values[-1])
        rise = upper - values
        width = np.append(np.diff(knots), 1.0)
        prob = np.empty(len(scores))
        for start in range(0, len(scores), _BLOCK):
            block = scores[start : start + _BLOCK].astype(np.float64)
            # The search for ascending values is several times faster than for mixed ones.
            order = np.argsort(block)
            ordered = np.clip(block[order], knots[0], knots[-1])
            left = np.searchsorted(knots, ordered, side="right") - 1
            step = (ordered - knots[left]) / width[left] * rise[left]
            prob[start + order] = np.minimum(values[left] + step, upper[left])
        return prob
