"""How sure are we? Tests of calibration, and intervals of its metrics."""

from calibrant.inference.intervals import ConfidenceInterval, confidence_interval
from calibrant.inference.kernel_test import CalibrationTest, calibration_test

__all__ = [
    "CalibrationTest",
    "ConfidenceInterval",
    "calibration_test",
    "confidence_interval",
]
