"""Forecasts, outcomes, losses and rules as users give them -> what sums are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from calibrant.decisions.losses import Bools, Floats, ThresholdLoss, as_level, as_number
from calibrant.forecasts.base import Forecast, as_outcomes
from calibrant.inputs import as_real_array, as_weights

Result = TypeVar("Result")


class Threshold:
    """What a forecast says of one threshold, asked once."""

    def __init__(self, forecast: Forecast, threshold: float) -> None:
        self._forecast = forecast
        self._threshold = threshold
        self.cdf = np.asarray(forecast.cdf(threshold), dtype=np.float64)

    @cached_property
    def cdf_left(self) -> Floats:
        if type(self._forecast).cdf_left is Forecast.cdf_left:  # no point masses
            return self.cdf
        return np.asarray(self._forecast.cdf_left(self._threshold), dtype=np.float64)

    def prob_below(self, *, strict: bool) -> Floats:
        """The predicted probability of the lower side."""
        return self.cdf_left if strict else self.cdf


@dataclass(frozen=True)
class Rule:
    """Action 1 where F(threshold) is at least, or at most, a level; None: as the loss has it."""

    level: float | None
    cdf: Floats | None
    direction: str | None

    def acts(self, loss: ThresholdLoss, threshold: Threshold) -> Bools:
        if self.level is None:
            return loss.acts(threshold.cdf)
        cdf = threshold.cdf if self.cdf is None else self.cdf
        if (self.direction or rule_direction(loss)) == "le":
            return np.asarray(cdf <= self.level)
        return np.asarray(cdf >= self.level)


def as_rule(forecast: Forecast, level: Any, rule_threshold: Any, direction: Any) -> Rule:
    """A rule with a level of its own, or the Bayes rule of the loss."""
    if level is None:
        for name, value in (("rule_threshold", rule_threshold), ("direction", direction)):
            if value is not None:
                raise ValueError(
                    f"{name} is for rules other than the Bayes rule: pass their level= too."
                )
        return Rule(None, None, None)
    return Rule(
        as_level(level, "level"), cdf_of_rule(forecast, rule_threshold), as_direction(direction)
    )


def cdf_of_rule(forecast: Forecast, rule_threshold: Any) -> Floats | None:
    """What a rule at another threshold than that of the loss compares."""
    if rule_threshold is None:
        return None
    return Threshold(forecast, as_number(rule_threshold, "rule_threshold")).cdf


def as_direction(direction: Any) -> str | None:
    if direction is None or (isinstance(direction, str) and direction in ("ge", "le")):
        return direction
    raise ValueError(f"direction must be 'ge', 'le' or None, got {direction!r}.")


def rule_direction(loss: ThresholdLoss) -> str:
    """That of the Bayes rule, "ge" where it compares nothing."""
    return "le" if loss.direction == "le" else "ge"


def as_levels(levels: Any, name: str = "levels") -> Floats:
    """Levels of rules, or ratios of costs: so many from 0.05 to 0.95, or as they are given."""
    return as_grid(levels, name, (0.05, 0.95), low=0.0, high=1.0)


def as_grid(
    values: Any,
    name: str,
    span: tuple[float, float],
    *,
    low: float = -np.inf,
    high: float = np.inf,
) -> Floats:
    """So many evenly spaced numbers from end to end of a span, or the given ones."""
    if isinstance(values, Integral) and not isinstance(values, bool):
        if values < 2:
            raise ValueError(
                f"{name} is {values}: it must be a number of values of at least 2, or an array of "
                "the values."
            )
        return np.linspace(*span, int(values))
    array = np.asarray(as_real_array(values, name, low=low, high=high), dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(
            f"{name} has shape {array.shape}: it must be a number of values, or an array (m,) of "
            "one or more values."
        )
    return array


def as_rows(
    forecast: Any, y: Any, sample_weight: Any
) -> tuple[Forecast, Floats | None, Floats | None]:
    """A forecast with its outcomes, where there are any, and weights of at most 1."""
    from calibrant.forecasts.adapters import as_forecast

    if y is not None:
        y = as_real_array(y, "y")
    known = as_forecast(forecast, None if y is None or y.ndim == 0 else len(y))
    weight = as_weights(sample_weight, len(known))
    if weight is not None:
        weight = weight / weight.max()  # their sum is finite
    return known, None if y is None else as_outcomes(y, len(known)), weight


def for_each_loss(
    forecast: Forecast,
    loss: ThresholdLoss | Sequence[ThresholdLoss],
    function: Callable[[ThresholdLoss, Threshold], Result],
) -> Result | list[Result]:
    """The function of one loss or of each; the forecast is asked once for each threshold."""
    if isinstance(loss, ThresholdLoss):
        return function(loss, Threshold(forecast, loss.threshold))
    losses = _as_losses(loss)
    positions: dict[float, list[int]] = {}
    for k, one in enumerate(losses):
        positions.setdefault(one.threshold, []).append(k)
    results = {}
    for value, members in positions.items():
        threshold = Threshold(forecast, value)
        for k in members:
            results[k] = function(losses[k], threshold)
    return [results[k] for k in range(len(losses))]


def _as_losses(losses: Any) -> list[ThresholdLoss]:
    try:
        found = list(losses)
    except TypeError:
        raise ValueError(
            f"loss must be a ThresholdLoss or a sequence of them, got {losses!r}."
        ) from None
    if not found:
        raise ValueError("loss is an empty sequence: it needs at least one ThresholdLoss.")
    for k, one in enumerate(found):
        if not isinstance(one, ThresholdLoss):
            raise ValueError(f"loss[{k}] is {one!r}: it must be a ThresholdLoss.")
    return found
