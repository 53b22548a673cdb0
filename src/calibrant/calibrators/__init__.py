"""Maps from scores or probabilities to calibrated probabilities, one method a file."""

from calibrant.calibrators.beta import BetaCalibration
from calibrant.calibrators.cross_validated import CrossValidated
from calibrant.calibrators.dirichlet import DirichletCalibration
from calibrant.calibrators.histogram import HistogramBinning
from calibrant.calibrators.isotonic import IsotonicCalibration
from calibrant.calibrators.one_vs_rest import OneVsRest
from calibrant.calibrators.platt import PlattScaling
from calibrant.calibrators.temperature import TemperatureScaling
from calibrant.calibrators.vector import VectorScaling

__all__ = [
    "BetaCalibration",
    "CrossValidated",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "OneVsRest",
    "PlattScaling",
    "TemperatureScaling",
    "VectorScaling",
]
