"""One decision maker's question: what will this cost me per case, and how sure is that?"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calibrant.arguments import as_generator, check_confidence_level, check_n_resamples
from calibrant.decisions import evaluating, replicates
from calibrant.decisions.evaluating import Threshold
from calibrant.decisions.losses import Floats, ThresholdLoss
from calibrant.percentiles import percentile_interval


class Estimate(NamedTuple):
    """A mean over the rows with its bootstrap interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class DecisionReport:
    """What the Bayes decisions of one loss cost per case.

    Made by `decision_report`. Printed, it says so in words.

    Attributes
    ----------
    loss : ThresholdLoss
        Cutoff and costs.
    n : int
        Cases; those of weight zero are left out.
    action_share : float
        Share of the cases with action 1.
    predicted_loss : Estimate
        Mean cost by the forecast, with the fields estimate, low and high.
    predicted_always_0, predicted_always_1 : float
        Mean cost by the forecast of one action for all cases.
    decision_loss : Estimate or None
        Mean cost that was realised; None without outcomes.
    difference : Estimate or None
        Predicted minus realised: below zero where the forecast promised too much.
    confidence_level : float
        Of the intervals.
    n_resamples : int
        Resamples that the intervals are read from.
    """

    loss: ThresholdLoss
    n: int
    action_share: float
    predicted_loss: Estimate
    predicted_always_0: float
    predicted_always_1: float
    decision_loss: Estimate | None
    difference: Estimate | None
    confidence_level: float
    n_resamples: int

    @property
    def interpretation(self) -> str:
        """What was found, in words."""
        interval = f"{100 * self.confidence_level:.4g} % interval"
        promised = _amount(self.predicted_loss.estimate)
        if self.decision_loss is None or self.difference is None:
            return (
                f"The forecast promises {promised} per case ({interval} "
                f"{_range(*self.predicted_loss[1:])}). Only outcomes can tell whether that comes."
            )
        came = _amount(self.decision_loss.estimate)
        start = f"The forecast promised {promised} per case and {came} came: it"
        surplus, low, high = self.difference
        if low <= 0 <= high:
            return (
                f"{start} agrees within chance ({interval} of the difference {_range(low, high)})."
            )
        if surplus < 0:
            return (
                f"{start} understates the cost by {_amount(-surplus)} "
                f"({interval} {_range(-high, -low)})."
            )
        return (
            f"{start} overstates the cost by {_amount(surplus)} ({interval} {_range(low, high)})."
        )

    def to_dict(self) -> dict[str, Any]:
        """The attributes and `interpretation` as plain values."""
        content: dict[str, Any] = {"loss": self.loss.to_dict()}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name != "loss":
                content[name] = value._asdict() if isinstance(value, Estimate) else value
        return {**content, "interpretation": self.interpretation}

    def __repr__(self) -> str:
        comparison = "<" if self.loss.strict else "<="
        lines = [
            f"DecisionReport: {self.n} cases, outcome {comparison} {self.loss.threshold:g}",
            f"  action 1 in {100 * self.action_share:.3g} % of cases",
            f"  predicted {_with_interval(self.predicted_loss)}; always action 0 "
            f"{_amount(self.predicted_always_0)}, always action 1 "
            f"{_amount(self.predicted_always_1)}",
        ]
        if self.decision_loss is not None and self.difference is not None:
            lines += [
                f"  realised {_with_interval(self.decision_loss)}",
                f"  predicted minus realised {_with_interval(self.difference)}",
            ]
        return "\n".join([*lines, textwrap.fill(self.interpretation, 80)])


def decision_report(
    forecast: Any,
    loss: ThresholdLoss,
    y: Any = None,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    random_state: int | np.random.Generator | None = None,
    sample_weight: Any = None,
) -> DecisionReport:
    """What the Bayes decisions cost per case by the forecast, did cost, and how sure that is.

    Parameters
    ----------
    forecast : forecast of n rows
    loss : ThresholdLoss
        Cutoff and costs.
    y : array-like of shape (n,), optional
        Outcomes, for the cost that was realised.
    confidence_level : float, default=0.95
        Of the intervals.
    n_resamples : int, default=999
        Bootstrap resamples of rows, the same for all three intervals.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the draws. The same seed gives the same result for any number of processors.
    sample_weight : array-like of shape (n,), optional
        How much each row counts. Resamples draw rows with equal probability, and each takes its
        weight along.

    Returns
    -------
    DecisionReport

    Raises
    ------
    ValueError
        If an argument is not as described, or outcomes and forecasts differ in number.

    Notes
    -----
    Percentile intervals, widened where necessary to hold the estimate. They speak of the mean over
    many cases of which these are a sample; that of the predicted loss takes the forecast at its
    word. Time O(nB) for B resamples, memory O(n).

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., & Ermon, S. (2021). Reliable decisions with threshold
    calibration. NeurIPS 34.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.decisions import ThresholdLoss, decision_report
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(5.0, 2.0, size=1000)
    >>> y = rng.normal(mu, 2.0)
    >>> loss = ThresholdLoss.from_errors(5.0, false_positive=6.0, false_negative=4.0)
    >>> decision_report(Normal(mu, 1.0), loss, y, random_state=0)
    DecisionReport: 1000 cases, outcome <= 5
      action 1 in 48.2 % of cases
      predicted 0.736 (0.689 to 0.781); always action 0 2.08, always action 1 2.88
      realised 1.19 (1.06 to 1.33)
      predicted minus realised -0.456 (-0.595 to -0.322)
    The forecast promised 0.736 per case and 1.19 came: it understates the cost by 0.456 (95 %
    interval 0.322 to 0.595).
    """
    from calibrant.inference.resamples import Resamples

    if not isinstance(loss, ThresholdLoss):
        raise ValueError(f"loss must be a ThresholdLoss, got {loss!r}.")
    known, outcomes, weight = evaluating.as_rows(forecast, y, sample_weight)
    level = check_confidence_level(confidence_level)
    n_resamples = check_n_resamples(n_resamples)
    rng = as_generator(random_state)

    if weight is None:
        weight = np.ones(len(known))
    there = weight > 0
    share = weight[there] / weight.sum()
    threshold = Threshold(known, loss.threshold)
    prob = threshold.prob_below(strict=loss.strict)[there]
    acts = loss.acts(threshold.cdf)[there]

    costs = [loss.costs(acts, prob)]
    if outcomes is not None:
        realised = loss.costs(acts, loss.is_below(outcomes[there]))
        costs += [realised, costs[0] - realised]
    resamples = Resamples(len(share), n_resamples, rng, None)
    total, *drawn = replicates.column_sums([share, *(share * cost for cost in costs)], resamples).T
    predicted, *against = (
        _estimate(float(share @ cost), sums / total, level)
        for cost, sums in zip(costs, drawn, strict=True)
    )
    decision, difference = against if against else (None, None)
    always_0, always_1 = (
        float(share @ loss.costs(np.full(len(share), action), prob)) for action in (False, True)
    )
    return DecisionReport(
        loss=loss,
        n=len(share),
        action_share=float(share @ acts),
        predicted_loss=predicted,
        predicted_always_0=always_0,
        predicted_always_1=always_1,
        decision_loss=decision,
        difference=difference,
        confidence_level=level,
        n_resamples=n_resamples,
    )


def _estimate(mean: float, drawn: Floats, level: float) -> Estimate:
    low, high = percentile_interval(mean, drawn, level)
    return Estimate(mean, float(low), float(high))


def _with_interval(found: Estimate) -> str:
    return f"{_amount(found.estimate)} ({_range(found.low, found.high)})"


def _range(low: float, high: float) -> str:
    return f"{_amount(low)} to {_amount(high)}"


def _amount(cost: float) -> str:
    return format(cost, "#.3g").rstrip(".") if abs(cost) < 999.5 else format(cost, ",.0f")
