"""Pictures of calibration, in scikit-learn's Display convention; they need matplotlib."""

from calibrant.displays.calibrator import CalibratorDisplay
from calibrant.displays.decision_curve import DecisionCurveDisplay
from calibrant.displays.pit import PITDisplay
from calibrant.displays.reliability import ReliabilityDisplay
from calibrant.displays.reliability_gap import ReliabilityGapDisplay
from calibrant.displays.threshold import ThresholdCalibrationDisplay

__all__ = [
    "CalibratorDisplay",
    "DecisionCurveDisplay",
    "PITDisplay",
    "ReliabilityDisplay",
    "ReliabilityGapDisplay",
    "ThresholdCalibrationDisplay",
]
