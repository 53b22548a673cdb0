"""The Bayes decision, what it is predicted to cost, and what it did cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from calibrant.decisions import evaluating
from calibrant.decisions.evaluating import Threshold
from calibrant.decisions.losses import Floats, ThresholdLoss


def bayes_decision(
    forecast: Any, loss: ThresholdLoss | Sequence[ThresholdLoss]
) -> NDArray[np.int64]:
    r"""The action of least expected cost in each row, under the forecast.

    .. math:: \delta(x_i) = 1[F_i(y_0) \ge \alpha], \quad \text{or} \quad 1[F_i(y_0) \le \alpha]

    with the level :math:`\alpha` and the direction of the loss. Ties take action 1.

    Parameters
    ----------
    forecast : forecast of n rows
        One of calibrant's, or anything with a `cdf` that broadcasts as SciPy's frozen
        distributions do.
    loss : ThresholdLoss or sequence of L of them

    Returns
    -------
    numpy.ndarray of int, of shape (n,), or (L, n) for a sequence
        0 or 1.

    Raises
    ------
    ValueError
        If `loss` is something else, or the forecast has no `cdf`.

    Notes
    -----
    Time O(nL). Losses at the same threshold share one evaluation of the CDF.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., & Ermon, S. (2021). Reliable decisions with threshold
    calibration. NeurIPS 34. Definition 1 and Section 2.3.

    Examples
    --------
    >>> from calibrant.decisions import ThresholdLoss, bayes_decision
    >>> from calibrant.forecasts import Normal
    >>> stay = Normal([3.0, 5.0, 9.0], 2.0)  # days in hospital
    >>> free_by_day_5 = ThresholdLoss.from_errors(5.0, false_positive=6.0, false_negative=4.0)
    >>> bayes_decision(stay, free_by_day_5)
    array([1, 0, 0])
    """
    forecast, _, _ = evaluating.as_rows(forecast, None, None)
    actions = evaluating.for_each_loss(
        forecast, loss, lambda one, threshold: one.acts(threshold.cdf).astype(np.int64)
    )
    return np.asarray(actions)


@overload
def predicted_loss(
    forecast: Any, loss: ThresholdLoss, *, level: float | None = None,
    rule_threshold: float | None = None, direction: str | None = None, sample_weight: Any = None,
) -> float: ...  # fmt: skip
@overload
def predicted_loss(
    forecast: Any, loss: Sequence[ThresholdLoss], *, level: float | None = None,
    rule_threshold: float | None = None, direction: str | None = None, sample_weight: Any = None,
) -> Floats: ...  # fmt: skip
def predicted_loss(
    forecast: Any,
    loss: ThresholdLoss | Sequence[ThresholdLoss],
    *,
    level: float | None = None,
    rule_threshold: float | None = None,
    direction: str | None = None,
    sample_weight: Any = None,
) -> float | Floats:
    r"""What a decision rule will cost per row on average, by the forecast: no outcome is needed.

    .. math:: \frac1n \sum_i [P_i b_{a_i} + (1 - P_i) a_{a_i}]

    with the probability :math:`P_i` of an outcome below the threshold, and the costs b below and
    a above it of the action :math:`a_i`.

    Parameters
    ----------
    forecast : forecast of n rows
    loss : ThresholdLoss or sequence of L of them
    level : float, optional
        A rule other than the Bayes rule: action 1 where F(threshold) is at least `level`, or at
        most `level` where the Bayes rule of the loss has that direction. Between 0 and 1.
    rule_threshold : float, optional
        The threshold whose F is compared with `level`, default that of the loss.
    direction : {"ge", "le"}, optional
        Act where F is at least, or at most, `level`; default that of the loss.
    sample_weight : array-like of shape (n,), optional
        How much each row counts.

    Returns
    -------
    float, or numpy.ndarray of shape (L,) for a sequence
        In the unit of the costs.

    Raises
    ------
    ValueError
        If an argument is not as described, or `rule_threshold` or `direction` comes without
        `level`.

    Notes
    -----
    Time O(nL). Losses at the same threshold share one evaluation of the CDF.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., & Ermon, S. (2021). Reliable decisions with threshold
    calibration. NeurIPS 34. Definition 2.

    Examples
    --------
    >>> from calibrant.decisions import ThresholdLoss, predicted_loss
    >>> from calibrant.forecasts import Normal
    >>> stay = Normal([3.0, 5.0, 9.0], 2.0)
    >>> free_by_day_5 = ThresholdLoss.from_errors(5.0, false_positive=6.0, false_negative=4.0)
    >>> round(predicted_loss(stay, free_by_day_5), 4)
    1.0143
    """
    return _mean_loss(forecast, None, loss, level, rule_threshold, direction, sample_weight)


@overload
def decision_loss(
    forecast: Any, y: Any, loss: ThresholdLoss, *, level: float | None = None,
    rule_threshold: float | None = None, direction: str | None = None, sample_weight: Any = None,
) -> float: ...  # fmt: skip
@overload
def decision_loss(
    forecast: Any, y: Any, loss: Sequence[ThresholdLoss], *, level: float | None = None,
    rule_threshold: float | None = None, direction: str | None = None, sample_weight: Any = None,
) -> Floats: ...  # fmt: skip
def decision_loss(
    forecast: Any,
    y: Any,
    loss: ThresholdLoss | Sequence[ThresholdLoss],
    *,
    level: float | None = None,
    rule_threshold: float | None = None,
    direction: str | None = None,
    sample_weight: Any = None,
) -> float | Floats:
    r"""What a decision rule did cost per row on average, given the outcomes.

    .. math:: \frac1n \sum_i \ell(y_i, a_i)

    Parameters
    ----------
    forecast : forecast of n rows
    y : array-like of shape (n,)
        Outcomes.
    loss : ThresholdLoss or sequence of L of them
    level, rule_threshold, direction : optional
        A rule other than the Bayes rule, as for `predicted_loss`.
    sample_weight : array-like of shape (n,), optional
        How much each row counts.

    Returns
    -------
    float, or numpy.ndarray of shape (L,) for a sequence
        In the unit of the costs.

    Raises
    ------
    ValueError
        If an argument is not as described, or outcomes and forecasts differ in number.

    Notes
    -----
    Time O(nL). Losses at the same threshold share one evaluation of the CDF.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., & Ermon, S. (2021). Reliable decisions with threshold
    calibration. NeurIPS 34. Section 5.3.

    Examples
    --------
    >>> from calibrant.decisions import ThresholdLoss, decision_loss
    >>> from calibrant.forecasts import Normal
    >>> stay = Normal([3.0, 5.0, 9.0], 2.0)
    >>> free_by_day_5 = ThresholdLoss.from_errors(5.0, false_positive=6.0, false_negative=4.0)
    >>> decision_loss(stay, [6.5, 4.0, 8.0], free_by_day_5)  # one error of each kind
    3.3333333333333335
    """
    return _mean_loss(forecast, required(y), loss, level, rule_threshold, direction, sample_weight)


def _mean_loss(
    forecast: Any,
    y: Any,
    loss: ThresholdLoss | Sequence[ThresholdLoss],
    level: Any,
    rule_threshold: Any,
    direction: Any,
    sample_weight: Any,
) -> float | Floats:
    """Realised where there are outcomes, else predicted."""
    forecast, outcomes, weight = evaluating.as_rows(forecast, y, sample_weight)
    rule = evaluating.as_rule(forecast, level, rule_threshold, direction)

    def mean(one: ThresholdLoss, threshold: Threshold) -> float:
        acts = rule.acts(one, threshold)
        if outcomes is None:
            costs = one.costs(acts, threshold.prob_below(strict=one.strict))
        else:
            costs = one.costs(acts, one.is_below(outcomes))
        return float(np.average(costs, weights=weight))

    return one_or_many(evaluating.for_each_loss(forecast, loss, mean))


def required(y: Any) -> Any:
    if y is None:
        raise ValueError("y is None: the cost that was realised needs outcomes.")
    return y


def one_or_many(values: float | list[float]) -> float | Floats:
    return np.array(values) if isinstance(values, list) else values
