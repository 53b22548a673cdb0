"""Calibration measured by a kernel, without bins: the squared kernel calibration error and MMCE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.frames import is_call_on_frame
from calibrant.inputs import check_predictions
from calibrant.metrics.kernel_terms import KernelTerms, kernel_terms

if TYPE_CHECKING:
    from calibrant.engines.kernel_grid import GridTerms


def skce(
    y_true: Any,
    y_prob: Any = None,
    *,
    estimator: str = "uq",
    kind: str = "canonical",
    bandwidth: float | str = 0.2,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    y: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    n_cells: int = 16_384,
) -> Any:
    r"""Squared kernel calibration error: do residuals of similar predictions agree in sign?

    With residuals :math:`e_i` = outcome - prediction, the kernel terms are

    .. math:: h_{ij} = \langle e_i, e_j \rangle \exp(-\lVert p_i - p_j \rVert / \text{bandwidth})

    and the estimators

    .. math:: \text{biased} = \frac{1}{n^2} \sum_{i, j} h_{ij}, \quad
              \text{uq} = \frac{2}{n (n - 1)} \sum_{i < j} h_{ij}, \quad
              \text{ul} = \frac{1}{\lfloor n / 2 \rfloor} \sum_i h_{2i - 1, 2i}.

    Parameters
    ----------
    y_true : array-like of shape (n,), or a frame
        What happened: labels of any kind. Or a data frame or relation of any engine, as in
        `reliability_table`.
    y_prob : array-like of shape (n,), (n, 2) or (n, K)
        Predicted probabilities: of the positive class, or of each class with rows summing to one.
    estimator : {"uq", "ul", "biased"}, default="uq"
        "uq" and "ul" are unbiased: their mean is zero where predictions are calibrated, and they
        may be negative. "ul" reads each row once, in pairs of neighbours in the given order: it
        is cheaper but much noisier, and needs rows in random order. "biased" is never negative,
        and positive by chance even for calibrated predictions.
    kind : {"canonical", "confidence", "classwise"}, default="canonical"
        What should be calibrated for K > 2 classes: the whole vector of probabilities (a vector
        residual, the Euclidean distance); the top label, the first one if tied; or each class
        against the rest, of which the mean is taken. Two classes have one scalar error, whatever
        the kind.
    bandwidth : float or "median", default=0.2
        Distance over which predictions count as similar. "median": the exact median distance over
        all pairs of rows (for "classwise": of each class).
    labels : sequence of labels, optional
        The classes in the order of the columns, where that is not their sorted order or where
        a class does not occur in `y_true`.
    pos_label : label, optional
        The positive class of two, where they are not 0/1 or bool.
    sample_weight : array-like of shape (n,), optional
        Weights; an integer weight means the same as repeating the row. Pairs count :math:`w_i w_j`.
        So "uq" depends on the scale of the weights: with W their sum, a row is paired with the
        other :math:`w_i - 1` copies of itself, and :math:`W (W - 1)` replaces n (n - 1).
        Not for "ul". With a frame: the name of a column.
    y, prob, by
        With a frame: its columns, as in `reliability_table`.
    n_cells : int, default=16384
        With a frame: cells of [0, 1] that its rows are summed in. For arrays nothing is divided.

    Returns
    -------
    float
        In squared units of probability: compare data sets of the same size and bandwidth only.
        With `by`: a dict of them, by group.

    Raises
    ------
    ValueError
        If an argument is not of the described kind; for fewer than two rows (or a total weight
        not above 1) where the estimator needs pairs; for `sample_weight` with "ul".

    See Also
    --------
    mmce : The square root of the biased estimate of the top label.
    calibrant.calibration_test : Is the error more than chance?

    Notes
    -----
    Two classes, "confidence", and each class of "classwise": time O(n log n) and memory O(n) for
    "uq" and "biased", all pairs being summed exactly by passes over the sorted predictions.
    "canonical" for K > 2: time O(n^2 K), memory O(n). "ul": time O(nK).
    The median distance costs O(n log n), for "canonical" O(n^2 K).

    On a frame: one aggregation, of up to `n_cells` results for each group and class, and "uq" or
    "biased" with a number as bandwidth, of the two classes, the top label, or each class. Pairs of
    rows in different cells, and each row with itself, are summed exactly. In a cell, where values
    are at most 1 / `n_cells` apart, the kernel is taken for the middle of its range, so that

    .. math:: |\text{error}| \le \sum_a \frac{1 - e^{-d_a / h}}{2} \, s_a^2
              \le \frac{1}{2 \cdot \text{n\_cells} \cdot h} \sum_a s_a^2,
              \quad s_a = \frac{1}{n} \sum_{i \in a} |e_i|

    with h the bandwidth and :math:`d_a` the largest difference in cell a (times n / (n - 1) for
    "uq"). That is at most 1 / (2 n_cells h) whatever the data, and near 1 / (8 n_cells^2 h), 2e-9
    by default, where predictions are spread evenly; predictions of few distinct values are exact.

    References
    ----------
    Widmann, D., Lindsten, F., & Zachariah, D. (2019). Calibration tests in multi-class
    classification: A unifying framework. NeurIPS 32.

    Examples
    --------
    >>> from calibrant import skce
    >>> y, p = [0, 1, 1, 0, 1, 0], [0.1, 0.7, 0.9, 0.4, 0.6, 0.2]
    >>> round(skce(y, p), 6)
    0.0022
    >>> round(skce(y, p, estimator="biased"), 6)
    0.014889
    """
    if estimator not in _ESTIMATORS:
        raise ValueError(f"estimator must be 'uq', 'ul' or 'biased', got {estimator!r}.")
    if is_call_on_frame(y_true, y_prob, y=y, prob=prob, by=by):
        if estimator == "ul":
            raise ValueError(
                "estimator='ul' pairs neighbouring rows, and rows of a frame have no order: take "
                "'uq' or 'biased'."
            )
        from calibrant.engines.kernel_grid import grid_terms

        groups = grid_terms(
            y_true,
            kind=kind,
            bandwidth=bandwidth,
            n_cells=n_cells,
            y=y,
            prob=prob,
            by=by,
            labels=labels,
            pos_label=pos_label,
            sample_weight=sample_weight,
        )
        values = {group: _mean_estimate(estimator, terms) for group, terms in groups}
        return values if by else values[()]
    data = check_predictions(
        y_true, y_prob, labels=labels, pos_label=pos_label, sample_weight=sample_weight
    )
    return _mean_estimate(estimator, kernel_terms(data, kind, bandwidth))


def mmce(
    y_true: Any,
    y_prob: Any = None,
    *,
    bandwidth: float | str = 0.2,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    y: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    n_cells: int = 16_384,
) -> Any:
    r"""Maximum mean calibration error of the predicted probability, or of that of the top label.

    .. math:: \operatorname{MMCE} = \Bigl\{\frac{1}{n^2} \sum_{i, j} e_i e_j
              \exp(-|r_i - r_j| / \text{bandwidth})\Bigr\}^{1/2}

    where :math:`r_i` is the probability of the positive class, or of the top label (the first one
    if tied) of K > 2 classes, and :math:`e_i` is 1 - :math:`r_i` where that happened, else
    :math:`-r_i`. It is the square root of the biased `skce` of kind "confidence".

    Parameters
    ----------
    y_true, y_prob, bandwidth, labels, pos_label, sample_weight, y, prob, by, n_cells
        As in `skce`, frames too.

    Returns
    -------
    float
        With `by`: a dict of them, by group.
        Not negative, at most 1; positive by chance even for calibrated predictions.

    Raises
    ------
    ValueError
        If an argument is not of the described kind.

    Notes
    -----
    Time O(n log n + nK), memory O(n). On a frame as in `skce`, whose error bounds that of the
    square.

    References
    ----------
    Kumar, A., Sarawagi, S., & Jain, U. (2018). Trainable calibration measures for neural networks
    from kernel mean embeddings. ICML 35.

    Examples
    --------
    >>> from calibrant import mmce
    >>> round(mmce([0, 1, 1, 0, 1, 0], [0.1, 0.7, 0.9, 0.4, 0.6, 0.2]), 6)
    0.122019
    """
    squared = skce(
        y_true,
        y_prob,
        estimator="biased",
        kind="confidence",
        bandwidth=bandwidth,
        labels=labels,
        pos_label=pos_label,
        sample_weight=sample_weight,
        y=y,
        prob=prob,
        by=by,
        n_cells=n_cells,
    )
    if isinstance(squared, dict):
        return {group: float(np.sqrt(value)) for group, value in squared.items()}
    return float(np.sqrt(squared))


def _mean_estimate(estimator: str, all_terms: Iterable[KernelTerms | GridTerms]) -> float:
    estimate = _ESTIMATORS[estimator]
    return float(np.mean([estimate(terms) for terms in all_terms]))


def _biased(terms: KernelTerms | GridTerms) -> float:
    sums = terms.sums()
    total = _total_weight(terms)
    # A mean of squares in truth: only rounding can make it negative.
    return max(0.0, (sums.between + sums.squared) / total**2)


def _unbiased(terms: KernelTerms | GridTerms) -> float:
    total = _total_weight(terms)
    if total <= 1.0:
        if terms.weight is None:
            raise ValueError(
                "estimator='uq' averages over pairs of rows, but there is one row only."
            )
        raise ValueError(
            "estimator='uq' averages over pairs of rows, so that sample_weight, which counts "
            f"repeated rows, must sum to more than 1: the sum is {total:g}."
        )
    sums = terms.sums()
    return (sums.between + (sums.squared - sums.single)) / (total * (total - 1.0))


def _unbiased_linear(terms: KernelTerms) -> float:
    if terms.weight is not None:
        raise ValueError(
            "estimator='ul' pairs each row with its neighbour, and rows of unequal weight make no "
            "whole pairs: leave sample_weight out, or take 'uq' or 'biased'."
        )
    if len(terms) < 2:
        raise ValueError("estimator='ul' averages over pairs of rows, but there is one row only.")
    return float(terms.disjoint_pairs().mean())


def _total_weight(terms: KernelTerms | GridTerms) -> float:
    return float(len(terms)) if terms.weight is None else float(terms.weight.sum())


_ESTIMATORS: dict[str, Callable[[Any], float]] = {
    "uq": _unbiased,
    "ul": _unbiased_linear,
    "biased": _biased,
}
