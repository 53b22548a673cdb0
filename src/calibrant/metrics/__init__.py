"""How far predicted probabilities are from what happened."""

from calibrant.metrics.binned import ace, ece, mce, reliability_table
from calibrant.metrics.kernel import mmce, skce
from calibrant.metrics.table import ReliabilityTable
from calibrant.metrics.verdict import Verdict, verdict

__all__ = [
    "ReliabilityTable",
    "Verdict",
    "ace",
    "ece",
    "mce",
    "mmce",
    "reliability_table",
    "skce",
    "verdict",
]
