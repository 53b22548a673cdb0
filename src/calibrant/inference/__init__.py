"""How sure are we? Tests of calibration, and intervals of its metrics."""

from calibrant.inference.drift import CalibrationDrift, calibration_drift_test
from calibrant.inference.intervals import ConfidenceInterval, confidence_interval
from calibrant.inference.kernel_test import CalibrationTest, calibration_test

__all__ = [
    "CalibrationDrift",
    "CalibrationTest",
    "ConfidenceInterval",
    "calibration_drift_test",
    "calibration_test",
    "confidence_interval",
]
