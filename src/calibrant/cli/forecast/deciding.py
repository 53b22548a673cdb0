"""What the decisions of one decision maker cost, by the forecasts and in truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant import DecisionReport, ThresholdLoss, bayes_decision, decision_report
from calibrant.cli.errors import UserError
from calibrant.cli.forecast.appending import DECISION
from calibrant.cli.forecast.columns import Data
from calibrant.forecasts import Forecast

Side = Literal["below", "above"]

PROBABILITY = "probability"


@dataclass(frozen=True)
class Question:
    """A decision: to act is to bet that the outcome is on one side of a threshold."""

    threshold: float
    false_alarm: float
    miss: float
    side: Side

    def __post_init__(self) -> None:
        for option, value in (
            ("--threshold", self.threshold),
            ("--cost-false-alarm", self.false_alarm),
            ("--cost-miss", self.miss),
        ):
            if not np.isfinite(value):
                raise UserError(f"{option} must be a finite number, got {value}.")
        if self.false_alarm == self.miss == 0.0:
            raise UserError(
                "--cost-false-alarm and --cost-miss are both 0: nothing is at stake, so there is "
                "nothing to decide."
            )

    @property
    def loss(self) -> ThresholdLoss:
        """The costs of not acting and of acting, as the library takes them."""
        if self.side == "below":
            return ThresholdLoss.from_errors(
                self.threshold, false_positive=self.false_alarm, false_negative=self.miss
            )
        return ThresholdLoss(self.threshold, (0.0, self.false_alarm), (self.miss, 0.0))

    @property
    def level(self) -> float:
        """The least probability of what is bet on at which acting is the cheaper action."""
        return self.false_alarm / (self.false_alarm + self.miss)

    def event(self, outcome: str) -> str:
        """What is bet on."""
        return f"{outcome} {'<=' if self.side == 'below' else '>'} {self.threshold:g}"

    def columns(self, forecast: Forecast) -> dict[str, Any]:
        """The action of each row, 1 to act, and the probability of what is bet on."""
        prob = forecast.cdf(self.threshold)
        return {
            DECISION: bayes_decision(forecast, self.loss),
            PROBABILITY: prob if self.side == "below" else 1.0 - prob,
        }


@dataclass(frozen=True)
class Decided:
    """The report on the decisions, and what the two simple policies cost in truth."""

    report: DecisionReport
    n_acting: int
    realised_always: float | None
    realised_never: float | None

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-able values."""
        report = self.report.to_dict()
        return {
            "n": self.report.n,
            "acting_rows": self.n_acting,
            "acting_share": self.report.action_share,
            "predicted_loss": report["predicted_loss"],
            "predicted_always_acting": self.report.predicted_always_1,
            "predicted_never_acting": self.report.predicted_always_0,
            "realised_loss": report["decision_loss"],
            "realised_always_acting": self.realised_always,
            "realised_never_acting": self.realised_never,
            "difference": report["difference"],
            "confidence_level": self.report.confidence_level,
            "n_resamples": self.report.n_resamples,
            "interpretation": self.report.interpretation,
        }


def decide(
    question: Question, data: Data, forecast: Forecast, *, n_resamples: int, seed: int
) -> Decided:
    """Report on the decisions of least expected cost, given the forecasts of the data."""
    loss = question.loss
    report = decision_report(
        forecast,
        loss,
        data.y,
        n_resamples=n_resamples,
        random_state=seed,
        sample_weight=data.weight,
    )
    always = never = None
    if data.y is not None:
        never, always = (
            float(
                np.average(
                    loss.costs(np.full(data.n, action), loss.is_below(data.y)), weights=data.weight
                )
            )
            for action in (False, True)
        )
    return Decided(report, int(bayes_decision(forecast, loss).sum()), always, never)
