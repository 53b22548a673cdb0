"""The reliability gap: how far predicted and realised costs lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from calibrant.decisions import evaluating, sums
from calibrant.decisions.evaluating import Threshold
from calibrant.decisions.expected import one_or_many, required
from calibrant.decisions.losses import Floats, ThresholdLoss


@overload
def reliability_gap(
    forecast: Any, y: Any, loss: ThresholdLoss, *, levels: Any = 50,
    rule_threshold: float | None = None, direction: str | None = None, sample_weight: Any = None,
) -> float: ...  # fmt: skip
@overload
def reliability_gap(
    forecast: Any, y: Any, loss: Sequence[ThresholdLoss], *, levels: Any = 50,
    rule_threshold: float | None = None, direction: str | None = None, sample_weight: Any = None,
) -> Floats: ...  # fmt: skip
def reliability_gap(
    forecast: Any,
    y: Any,
    loss: ThresholdLoss | Sequence[ThresholdLoss],
    *,
    levels: Any = 50,
    rule_threshold: float | None = None,
    direction: str | None = None,
    sample_weight: Any = None,
) -> float | Floats:
    r"""How far predicted and realised costs lie apart, on average over decision rules; 0 is best.

    .. math:: \frac1L \sum_\alpha |\text{predicted}(\alpha) - \text{realised}(\alpha)|

    where the rule takes action 1 if F(threshold) is at least (or at most, where the Bayes rule of
    the loss has that direction) the level :math:`\alpha`. It is zero for every loss and rule if,
    and only if, the forecast is threshold-calibrated.

    Parameters
    ----------
    forecast : forecast of n rows
    y : array-like of shape (n,)
        Outcomes.
    loss : ThresholdLoss or sequence of L of them
    levels : int or array-like of shape (m,), default=50
        Levels of the rules, in [0, 1]; a number means so many from 0.05 to 0.95.
    rule_threshold, direction : optional
        As for `predicted_loss`.
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
    The finite sample alone makes the gap positive, of the order of :math:`1 / \sqrt n` times
    the costs: see `decision_report` and `decision_table` for intervals of the difference. Time
    O(n log m + L m), once for each threshold.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., & Ermon, S. (2021). Reliable decisions with threshold
    calibration. NeurIPS 34. Definition 2, Theorem 1 and Section 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.decisions import ThresholdLoss, reliability_gap
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=2000)
    >>> y = rng.normal(mu, 1.0)
    >>> loss = ThresholdLoss.from_cost_ratio(0.0, 0.3)
    >>> gap = reliability_gap(Normal(mu, 1.0), y, loss)
    >>> bool(gap < 0.1 < reliability_gap(Normal(mu, 0.3), y, loss))
    True
    """
    forecast, outcomes, weight = evaluating.as_rows(forecast, required(y), sample_weight)
    assert outcomes is not None
    if weight is None:
        weight = np.ones(len(outcomes))
    total = weight.sum()
    grid = np.sort(evaluating.as_levels(levels))
    compared = evaluating.cdf_of_rule(forecast, rule_threshold)
    chosen = evaluating.as_direction(direction)
    seen: dict[tuple[float, bool, str], tuple[Floats, float]] = {}

    def surplus(one: ThresholdLoss, threshold: Threshold, way: str) -> tuple[Floats, float]:
        """By how much outcomes below are more than predicted: where a rule acts, and in all."""
        residual = weight * (one.is_below(outcomes) - threshold.prob_below(strict=one.strict))
        cdf = threshold.cdf if compared is None else compared
        bucket = sums.buckets(cdf, grid, way)
        return sums.over_acting(bucket, len(grid), residual, way), float(residual.sum())

    def gap(one: ThresholdLoss, threshold: Threshold) -> float:
        way = chosen or evaluating.rule_direction(one)
        key = (one.threshold, one.strict, way)
        if key not in seen:
            seen[key] = surplus(one, threshold, way)
        acting, everywhere = seen[key]
        (b0, b1), (a0, a1) = one.below, one.above
        return float(np.abs((b1 - a1) * acting + (b0 - a0) * (everywhere - acting)).mean() / total)

    return one_or_many(evaluating.for_each_loss(forecast, loss, gap))
