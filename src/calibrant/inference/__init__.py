"""How sure are we? Tests of calibration."""

from calibrant.inference.calibration_test import CalibrationTest, calibration_test

__all__ = ["CalibrationTest", "calibration_test"]
