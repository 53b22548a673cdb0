"""The decision panel: what deciding costs by the predictions and in truth, on a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.decisions import ThresholdLoss, bayes_decision, decision_loss, predicted_loss
from calibrant.decisions.sums import buckets, over_acting
from calibrant.forecasts import Forecast

Floats = NDArray[np.float64]

MISS_COSTS = (1 / 50, 1 / 20, 1 / 10, 1 / 5, 1 / 3, 1 / 2, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
"""What a miss costs, where a false alarm costs 1."""

START = MISS_COSTS.index(1.0)
"""The costs that the panel shows first."""

AS_THEY_ARE = "as they are"
"""The forecaster that nothing was done to."""

_IN_TABLE = (1 / 10, 1 / 3, 1.0, 3.0, 10.0)
_N_THRESHOLDS = 41


class Losses(NamedTuple):
    """Of one forecaster, (costs, thresholds) each: mean loss per row, and share acted on."""

    predicted: Floats
    realised: Floats
    acting: Floats


@dataclass(frozen=True)
class Stakes:
    """Losses by what a miss costs and by threshold.

    `question` is what the axis of thresholds is called, `acts` what the share of rows acted on is.
    `best` holds for each cost the threshold that is best by the predictions, where the threshold is
    the decision maker's choice; of a threshold of the outcome, which is not, the middle one.
    """

    thresholds: Floats
    losses: Mapping[str, Losses]
    best: tuple[int, ...]
    chosen: bool
    question: str
    acts: str = "Acts on"

    @property
    def labels(self) -> list[str]:
        """The thresholds as they are shown, with all their digits where the outcome has them."""
        return [_label(float(value), self.chosen) for value in self.thresholds]

    @property
    def costs_in_words(self) -> list[str]:
        return [words(cost) for cost in MISS_COSTS]

    def rows(self) -> list[tuple[str, str, list[tuple[str, float, float]]]]:
        """Some of the costs: in words, the threshold, and what each forecaster loses."""
        found = []
        for cost in _IN_TABLE:
            k = MISS_COSTS.index(cost)
            at = self.best[k]
            losses = [
                (name, float(own.predicted[k, at]), float(own.realised[k, at]))
                for name, own in self.losses.items()
            ]
            found.append((words(cost), self.labels[at], losses))
        return found


def words(cost: float) -> str:
    """What a miss costs against a false alarm."""
    if cost == 1:
        return "A miss costs as much as a false alarm"
    if cost > 1:
        return f"A miss costs {cost:.3g} times as much as a false alarm"
    return f"A false alarm costs {1 / cost:.3g} times as much as a miss"


def of_events(
    predictions: Mapping[str, tuple[Floats, NDArray[np.bool_]]],
    weight: Floats | None,
    *,
    accepting: bool,
) -> Stakes:
    """Acting, or accepting the top label, where a probability is at least a threshold.

    Each forecaster has probabilities and whether its event happened, (n,) each.
    """
    bayes = [float(_loss(0.0, cost).level or 0.0) for cost in MISS_COSTS]
    thresholds = np.unique([*(np.arange(1, 100) / 100.0), *bayes])
    losses = {
        name: _of_event(prob, event, weight, thresholds)
        for name, (prob, event) in predictions.items()
    }
    best = np.searchsorted(thresholds, bayes)
    verb = "Accept" if accepting else "Act"
    acts = "Accepts" if accepting else "Acts on"
    question = f"{verb} where the probability is at least"
    chosen = tuple(map(int, best))
    return Stakes(thresholds, losses, chosen, chosen=True, question=question, acts=acts)


def of_outcomes(forecasts: Mapping[str, Forecast], y: Floats, weight: Floats | None) -> Stakes:
    """Acting, the bet on an outcome at or below a threshold, where that is the cheaper action."""
    thresholds = _short(np.quantile(y, np.linspace(0.05, 0.95, _N_THRESHOLDS)))
    grid = [_loss(float(at), cost) for cost in MISS_COSTS for at in thresholds]
    shape = (len(MISS_COSTS), len(thresholds))
    losses = {}
    for name, forecast in forecasts.items():
        acting = [
            np.average(bayes_decision(forecast, grid[t :: shape[1]]), axis=1, weights=weight)
            for t in range(shape[1])
        ]
        losses[name] = Losses(
            predicted_loss(forecast, grid, sample_weight=weight).reshape(shape),
            decision_loss(forecast, y, grid, sample_weight=weight).reshape(shape),
            np.column_stack(acting),
        )
    best = (len(thresholds) // 2,) * len(MISS_COSTS)
    return Stakes(thresholds, losses, best, chosen=False, question="Threshold of the outcome")


def _short(values: Floats) -> Floats:
    """The values with as many digits as tell them apart: what is shown is what is used."""
    span = float(values[-1] - values[0])
    if span == 0.0:
        return np.array([float(f"{values[0]:.12g}")])
    digits = 3 - math.floor(math.log10(span))
    return np.unique([round(value, digits) for value in values.tolist()])


def _label(value: float, chosen: bool) -> str:
    # Few digits of a probability; else the fewest from which the number can be read back.
    text = f"{value:.3g}" if chosen else repr(value).removesuffix(".0")
    return text.replace("-", "\N{MINUS SIGN}")


def _loss(threshold: float, cost: float) -> ThresholdLoss:
    return ThresholdLoss.from_errors(threshold, false_positive=1.0, false_negative=cost)


def _of_event(
    prob: Floats, event: NDArray[np.bool_], weight: Floats | None, thresholds: Floats
) -> Losses:
    share = np.full(len(prob), 1.0 / len(prob)) if weight is None else weight / weight.sum()
    bucket = buckets(prob, thresholds)
    acting = over_acting(bucket, len(thresholds), share)
    costs = np.array(MISS_COSTS)[:, np.newaxis]

    def loss(happening: Floats) -> Floats:
        right = over_acting(bucket, len(thresholds), share * happening)
        missed = float(share @ happening) - right
        return np.asarray((acting - right) + costs * missed).clip(min=0.0)

    realised = loss(event.astype(np.float64))
    return Losses(loss(prob), realised, np.broadcast_to(acting, realised.shape))
