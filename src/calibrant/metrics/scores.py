"""Proper scores of class probabilities: the Brier score and the logarithmic loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant.frames import is_call_on_frame
from calibrant.inputs import FloatArray, Predictions, check_predictions


def brier_score(
    y_true: Any,
    y_prob: Any = None,
    *,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    y: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> Any:
    r"""Brier score: the mean squared difference between prediction and outcome.

    .. math:: \frac{1}{W} \sum_i w_i (p_i - y_i)^2 \quad\text{or}\quad
              \frac{1}{W} \sum_i w_i \sum_k (p_{ik} - y_{ik})^2

    for two and for K > 2 classes, where y is 1 for what happened, else 0.

    Parameters
    ----------
    y_true, y_prob, labels, pos_label, sample_weight, y, prob, by
        As in `calibrant.reliability_table`, frames too.

    Returns
    -------
    float
        In [0, 1] for two classes and in [0, 2] for more, as in scikit-learn's
        ``brier_score_loss``; smaller is better. With `by`: a dict of them, by group.

    Raises
    ------
    ValueError
        If an argument is not of the described kind.

    Notes
    -----
    Time O(nK), memory O(n). On a frame: one aggregation.

    References
    ----------
    Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly
    Weather Review, 78(1), 1-3.

    Examples
    --------
    >>> from calibrant import brier_score
    >>> round(brier_score([0, 1, 1], [0.1, 0.8, 0.5]), 12)
    0.1
    """
    if is_call_on_frame(y_true, y_prob, y=y, prob=prob, by=by):
        from calibrant.engines.scores import brier_scores

        scores = brier_scores(
            y_true, y=y, prob=prob, by=by, labels=labels, pos_label=pos_label,
            sample_weight=sample_weight,
        )  # fmt: skip
        return scores if by else scores[()]
    data = check_predictions(
        y_true, y_prob, labels=labels, pos_label=pos_label, sample_weight=sample_weight
    )
    prob_ = data.prob.astype(np.float64, copy=False)
    if data.binary:
        return _mean((prob_ - data.target) ** 2, data)
    # The sum of squares with p_true - 1 in place of p_true.
    return _mean((prob_**2).sum(axis=1) - 2.0 * _of_outcome(prob_, data) + 1.0, data)


def log_loss(
    y_true: Any,
    y_prob: Any = None,
    *,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    y: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> Any:
    r"""Logarithmic loss: the mean negative log probability of what happened.

    .. math:: -\frac{1}{W} \sum_i w_i \log q_i

    where :math:`q_i` is the probability that was given to the outcome, clipped to
    [eps, 1 - eps] with the eps of its floating-point type, as in scikit-learn's ``log_loss``.

    Parameters
    ----------
    y_true, y_prob, labels, pos_label, sample_weight, y, prob, by
        As in `calibrant.reliability_table`, frames too.

    Returns
    -------
    float
        In nats, 0 or more; smaller is better. With `by`: a dict of them, by group.

    Raises
    ------
    ValueError
        If an argument is not of the described kind.

    Notes
    -----
    Time O(n) and O(nK) to check the input, memory O(n). On a frame: one aggregation.

    References
    ----------
    Good, I. J. (1952). Rational decisions. Journal of the Royal Statistical Society B, 14(1),
    107-114.

    Examples
    --------
    >>> from calibrant import log_loss
    >>> round(log_loss([0, 1], [0.5, 0.5]), 6)
    0.693147
    """
    if is_call_on_frame(y_true, y_prob, y=y, prob=prob, by=by):
        from calibrant.engines.scores import log_losses

        losses = log_losses(
            y_true, y=y, prob=prob, by=by, labels=labels, pos_label=pos_label,
            sample_weight=sample_weight,
        )  # fmt: skip
        return losses if by else losses[()]
    data = check_predictions(
        y_true, y_prob, labels=labels, pos_label=pos_label, sample_weight=sample_weight
    )
    eps = np.finfo(data.prob.dtype).eps
    prob_ = data.prob.astype(np.float64, copy=False)
    given = np.where(data.target, prob_, 1.0 - prob_) if data.binary else _of_outcome(prob_, data)
    return _mean(-np.log(np.clip(given, eps, 1.0 - eps)), data)


def _of_outcome(prob: FloatArray, data: Predictions) -> FloatArray:
    """The probability given to what happened."""
    given: FloatArray = np.take_along_axis(prob, data.target[:, np.newaxis], axis=1)[:, 0]
    return given


def _mean(values: FloatArray, data: Predictions) -> float:
    return float(np.average(values, weights=data.weight))
