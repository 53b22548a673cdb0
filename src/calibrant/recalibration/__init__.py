"""Recalibration: from forecasts and their outcomes to better calibrated forecasts."""

from calibrant.recalibration.average import AverageRecalibration
from calibrant.recalibration.distribution import DistributionRecalibration
from calibrant.recalibration.recalibrated import Recalibrated
from calibrant.recalibration.threshold import ThresholdRecalibration

__all__ = [
    "AverageRecalibration",
    "DistributionRecalibration",
    "Recalibrated",
    "ThresholdRecalibration",
]
