"""Recalibration: from forecasts and their outcomes to better calibrated forecasts."""

from calibrant.recalibration.average import AverageRecalibration
from calibrant.recalibration.distribution import DistributionRecalibration
from calibrant.recalibration.pinned import Pinned
from calibrant.recalibration.recalibrated import Recalibrated
from calibrant.recalibration.threshold import ThresholdRecalibration
from calibrant.recalibration.thresholdwise import ThresholdwiseRecalibration

__all__ = [
    "AverageRecalibration",
    "DistributionRecalibration",
    "Pinned",
    "Recalibrated",
    "ThresholdRecalibration",
    "ThresholdwiseRecalibration",
]
