"""Histogram binning: the frequency of the event in each bin."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import STRATEGIES, bin_edges, bin_index
from calibrant.calibrators.base import BinaryCalibrator
from calibrant.entries import SHARE, Entries, array, count, one_of
from calibrant.inputs import FloatArray
from calibrant.kernels.bins import bin_grid, values_of_bins
from calibrant.saving import saveable


@saveable
class HistogramBinning(BinaryCalibrator):
    r"""Histogram binning: every probability of a bin becomes the bin's observed frequency.

    .. math:: \hat q_j = \sum_{i \in I_j} w_i y_i \Big/ \sum_{i \in I_j} w_i

    Bins hold their lower edge, and the last one 1 too. A bin without rows takes the value of the
    nearest bin (counted in bins) that has some; of two as near, that of the lower one.

    Parameters
    ----------
    n_bins : int, default=10
        How many bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or bins with about the same number of rows: the inner edges are then
        type-8 quantiles, and equal ones are merged, so that ties can leave fewer bins. Weights that
        are not all whole numbers count relative to their mean in the quantiles.

    Attributes
    ----------
    bin_edges_ : numpy.ndarray of shape (J + 1,)
        From 0 to 1; J <= `n_bins`.
    bin_values_ : numpy.ndarray of shape (J,)
        The calibrated probability of each bin.
    bin_weights_ : numpy.ndarray of shape (J,)
        The number of rows in each bin, or their weight.
    global_rate_ : float
        The (weighted) frequency of the event over all rows.
    classes_ : numpy.ndarray of shape (2,)
        The labels; the second one is the event that is predicted.
    n_features_in_ : int
        1 if fitted on shape (n,), 2 if on (n, 2).

    Raises
    ------
    ValueError
        By `fit`, if `n_bins` is not an integer of at least 1 or `strategy` is neither option.

    See Also
    --------
    IsotonicCalibration : A monotone map without bins to choose.
    OneVsRest : For more than two classes.

    Notes
    -----
    Fitting takes O(n log J) time with "uniform", O(n log n) with "quantile", and O(n) memory;
    predicting takes O(n), or O(n log J) with bins narrower than 1 / 1024. There is no `loss_`: the
    fit is not one of likelihood.

    References
    ----------
    Zadrozny, B., & Elkan, C. (2001). Obtaining calibrated probability estimates from decision trees
    and naive Bayesian classifiers. ICML 2001, 609-616.

    Examples
    --------
    >>> from calibrant import HistogramBinning
    >>> histogram = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7, 0.9], [0, 1, 0, 1, 1])
    >>> histogram.bin_values_.round(4)
    array([0.5   , 0.6667])
    >>> histogram.predict_proba([0.4999, 0.5]).round(4)
    array([0.5   , 0.6667])
    """

    _scale = "probability"
    _parameters: ClassVar[Entries] = {"n_bins": count(1), "strategy": one_of(*STRATEGIES)}
    _state: ClassVar[Entries] = {
        "bin_edges_": array("J+1", low=0, high=1, order="ascending"),
        "bin_values_": array("J", low=0, high=1),
        "bin_weights_": array("J", low=0, integers=True),
        "global_rate_": SHARE,
    }

    bin_edges_: NDArray[np.float64]
    bin_values_: NDArray[np.float64]
    bin_weights_: NDArray[Any]
    global_rate_: float

    def __init__(self, *, n_bins: int = 10, strategy: str = "uniform") -> None:
        self.n_bins = n_bins
        self.strategy = strategy

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        edges = bin_edges(scores, self.n_bins, self.strategy, weight)
        index = bin_index(scores, edges)
        n_bins = len(edges) - 1
        events = codes if weight is None else codes * weight
        in_bin = np.bincount(index, weight, minlength=n_bins)
        self._fill(edges, in_bin, np.bincount(index, events, minlength=n_bins))

    def _fill(
        self, edges: NDArray[np.float64], in_bin: NDArray[Any], events_in_bin: NDArray[Any]
    ) -> None:
        """Keep the frequencies of bins that hold rows of such weight."""
        n_bins = len(in_bin)
        filled = _nearest(np.flatnonzero(in_bin), n_bins)
        self.bin_edges_ = edges
        self.bin_values_ = events_in_bin[filled] / in_bin[filled]
        self.bin_weights_ = in_bin
        self.global_rate_ = float(events_in_bin.sum() / in_bin.sum())

    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        (cells,) = bin_grid((self.bin_edges_,))
        prob = np.empty(len(scores))
        values_of_bins(scores, self.bin_edges_[:-1], cells, self.bin_values_, prob)
        return prob


def _nearest(filled: NDArray[np.intp], n_bins: int) -> NDArray[np.intp]:
    """For each bin the nearest one of `filled` (ascending), the lower of two as near."""
    bins = np.arange(n_bins)
    right = np.searchsorted(filled, bins)
    above = filled[np.minimum(right, len(filled) - 1)]
    below = filled[np.maximum(right - 1, 0)]
    return np.where(np.abs(bins - below) <= np.abs(above - bins), below, above)
