"""Which calibrator repairs these predictions best, and is it better than none?"""

from calibrant.selection.auto import AutoCalibration
from calibrant.selection.comparing import compare_calibrators
from calibrant.selection.comparison import CalibratorComparison

__all__ = ["AutoCalibration", "CalibratorComparison", "compare_calibrators"]
