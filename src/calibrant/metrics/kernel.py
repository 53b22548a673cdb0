"""Calibration measured by a kernel, without bins: the squared kernel calibration error and MMCE."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import check_predictions
from calibrant.metrics.kernel_terms import KernelTerms, kernel_terms


def skce(
    y_true: Any,
    y_prob: Any,
    *,
    estimator: str = "uq",
    kind: str = "canonical",
    bandwidth: float | str = 0.2,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Squared kernel calibration error: do residuals of similar predictions agree in sign?

    With residuals :math:`e_i` = outcome - prediction, the kernel terms are

    .. math:: h_{ij} = \langle e_i, e_j \rangle \exp(-\lVert p_i - p_j \rVert / \text{bandwidth})

    and the estimators

    .. math:: \text{biased} = \frac{1}{n^2} \sum_{i, j} h_{ij}, \quad
              \text{uq} = \frac{2}{n (n - 1)} \sum_{i < j} h_{ij}, \quad
              \text{ul} = \frac{1}{\lfloor n / 2 \rfloor} \sum_i h_{2i - 1, 2i}.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        What happened: labels of any kind.
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
        Not for "ul".

    Returns
    -------
    float
        In squared units of probability: compare data sets of the same size and bandwidth only.

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
    data = check_predictions(
        y_true, y_prob, labels=labels, pos_label=pos_label, sample_weight=sample_weight
    )
    estimate = _ESTIMATORS[estimator]
    return float(np.mean([estimate(terms) for terms in kernel_terms(data, kind, bandwidth)]))


def mmce(
    y_true: Any,
    y_prob: Any,
    *,
    bandwidth: float | str = 0.2,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Maximum mean calibration error of the predicted probability, or of that of the top label.

    .. math:: \operatorname{MMCE} = \Bigl\{\frac{1}{n^2} \sum_{i, j} e_i e_j
              \exp(-|r_i - r_j| / \text{bandwidth})\Bigr\}^{1/2}

    where :math:`r_i` is the probability of the positive class, or of the top label (the first one
    if tied) of K > 2 classes, and :math:`e_i` is 1 - :math:`r_i` where that happened, else
    :math:`-r_i`. It is the square root of the biased `skce` of kind "confidence".

    Parameters
    ----------
    y_true, y_prob, bandwidth, labels, pos_label, sample_weight
        As in `skce`.

    Returns
    -------
    float
        Not negative, at most 1; positive by chance even for calibrated predictions.

    Raises
    ------
    ValueError
        If an argument is not of the described kind.

    Notes
    -----
    Time O(n log n + nK), memory O(n).

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
    )
    return float(np.sqrt(squared))


def _biased(terms: KernelTerms) -> float:
    sums = terms.sums()
    total = _total_weight(terms)
    # A mean of squares in truth: only rounding can make it negative.
    return max(0.0, (sums.between + sums.squared) / total**2)


def _unbiased(terms: KernelTerms) -> float:
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


def _total_weight(terms: KernelTerms) -> float:
    return float(len(terms)) if terms.weight is None else float(terms.weight.sum())


_ESTIMATORS = {"uq": _unbiased, "ul": _unbiased_linear, "biased": _biased}
