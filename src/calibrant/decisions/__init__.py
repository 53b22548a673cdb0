"""What decisions made on forecasts cost: promised, realised, and how far apart the two are."""

from calibrant.decisions.expected import bayes_decision, decision_loss, predicted_loss
from calibrant.decisions.gap import reliability_gap
from calibrant.decisions.losses import ThresholdLoss
from calibrant.decisions.report import DecisionReport, decision_report
from calibrant.decisions.table import DecisionTable, decision_table

__all__ = [
    "DecisionReport",
    "DecisionTable",
    "ThresholdLoss",
    "bayes_decision",
    "decision_loss",
    "decision_report",
    "decision_table",
    "predicted_loss",
    "reliability_gap",
]
