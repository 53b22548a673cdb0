"""Can the decision maker trust these probabilities? Measure, repair and apply calibration."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.calibrators import (
        BetaCalibration,
        CrossValidated,
        DirichletCalibration,
        HistogramBinning,
        IsotonicCalibration,
        OneVsRest,
        PlattScaling,
        TemperatureScaling,
        VectorScaling,
    )
    from calibrant.inference import (
        CalibrationTest,
        ConfidenceInterval,
        calibration_test,
        confidence_interval,
    )
    from calibrant.metrics import ReliabilityTable, ace, ece, mce, mmce, reliability_table, skce
    from calibrant.saving import load
    from calibrant.transforms import inv_logit, logit

__version__ = "0.1.0"

__all__ = [
    "BetaCalibration",
    "CalibrationTest",
    "ConfidenceInterval",
    "CrossValidated",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "OneVsRest",
    "PlattScaling",
    "ReliabilityTable",
    "TemperatureScaling",
    "VectorScaling",
    "ace",
    "calibration_test",
    "confidence_interval",
    "ece",
    "inv_logit",
    "load",
    "logit",
    "mce",
    "mmce",
    "reliability_table",
    "skce",
]

_HOMES = {
    "calibrators": (
        "BetaCalibration", "CrossValidated", "DirichletCalibration", "HistogramBinning",
        "IsotonicCalibration", "OneVsRest", "PlattScaling", "TemperatureScaling", "VectorScaling",
    ),
    "inference": (
        "CalibrationTest", "ConfidenceInterval", "calibration_test", "confidence_interval",
    ),
    "metrics": ("ReliabilityTable", "ace", "ece", "mce", "mmce", "reliability_table", "skce"),
    "saving": ("load",),
    "transforms": ("inv_logit", "logit"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # Names load on first use, so that `import calibrant` costs next to nothing.
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"calibrant.{module}"), name)
    raise AttributeError(f"module 'calibrant' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
