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
    from calibrant.classifier import CalibratedClassifier
    from calibrant.decisions import (
        DecisionReport,
        DecisionTable,
        ThresholdLoss,
        bayes_decision,
        decision_loss,
        decision_report,
        decision_table,
        predicted_loss,
        reliability_gap,
    )
    from calibrant.displays import (
        CalibratorDisplay,
        DecisionCurveDisplay,
        PITDisplay,
        ReliabilityDisplay,
        ReliabilityGapDisplay,
        ThresholdCalibrationDisplay,
    )
    from calibrant.engines.streaming import StreamingReliability
    from calibrant.inference import (
        CalibrationDrift,
        CalibrationTest,
        ConfidenceInterval,
        calibration_drift_test,
        calibration_test,
        confidence_interval,
    )
    from calibrant.metrics import ReliabilityTable, ace, ece, mce, mmce, reliability_table, skce
    from calibrant.metrics.average import average_calibration_error, pit
    from calibrant.metrics.forecast_scores import (
        CoverageTable,
        crps,
        distribution_calibration_error,
        interval_coverage,
        log_score,
    )
    from calibrant.metrics.scores import brier_score, log_loss
    from calibrant.metrics.threshold import (
        ThresholdCalibrationError,
        threshold_calibration_error,
    )
    from calibrant.recalibration import (
        AverageRecalibration,
        DistributionRecalibration,
        ThresholdRecalibration,
        ThresholdwiseRecalibration,
    )
    from calibrant.reporting import Report, forecast_report, report
    from calibrant.saving import load
    from calibrant.selection import AutoCalibration, CalibratorComparison, compare_calibrators
    from calibrant.transforms import inv_logit, logit

__version__ = "0.1.0"

__all__ = [
    "AutoCalibration",
    "AverageRecalibration",
    "BetaCalibration",
    "CalibratedClassifier",
    "CalibrationDrift",
    "CalibrationTest",
    "CalibratorComparison",
    "CalibratorDisplay",
    "ConfidenceInterval",
    "CoverageTable",
    "CrossValidated",
    "DecisionCurveDisplay",
    "DecisionReport",
    "DecisionTable",
    "DirichletCalibration",
    "DistributionRecalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "OneVsRest",
    "PITDisplay",
    "PlattScaling",
    "ReliabilityDisplay",
    "ReliabilityGapDisplay",
    "ReliabilityTable",
    "Report",
    "StreamingReliability",
    "TemperatureScaling",
    "ThresholdCalibrationDisplay",
    "ThresholdCalibrationError",
    "ThresholdLoss",
    "ThresholdRecalibration",
    "ThresholdwiseRecalibration",
    "VectorScaling",
    "ace",
    "average_calibration_error",
    "bayes_decision",
    "brier_score",
    "calibration_drift_test",
    "calibration_test",
    "compare_calibrators",
    "confidence_interval",
    "crps",
    "decision_loss",
    "decision_report",
    "decision_table",
    "distribution_calibration_error",
    "ece",
    "forecast_report",
    "interval_coverage",
    "inv_logit",
    "load",
    "log_loss",
    "log_score",
    "logit",
    "mce",
    "mmce",
    "pit",
    "predicted_loss",
    "reliability_gap",
    "reliability_table",
    "report",
    "skce",
    "threshold_calibration_error",
]

_HOMES = {
    "calibrators": (
        "BetaCalibration", "CrossValidated", "DirichletCalibration", "HistogramBinning",
        "IsotonicCalibration", "OneVsRest", "PlattScaling", "TemperatureScaling", "VectorScaling",
    ),
    "displays": (
        "CalibratorDisplay", "DecisionCurveDisplay", "PITDisplay", "ReliabilityDisplay",
        "ReliabilityGapDisplay", "ThresholdCalibrationDisplay",
    ),
    "engines.streaming": ("StreamingReliability",),
    "inference": (
        "CalibrationDrift", "CalibrationTest", "ConfidenceInterval", "calibration_drift_test",
        "calibration_test", "confidence_interval",
    ),
    "classifier": ("CalibratedClassifier",),
    "decisions": (
        "DecisionReport", "DecisionTable", "ThresholdLoss", "bayes_decision", "decision_loss",
        "decision_report", "decision_table", "predicted_loss", "reliability_gap",
    ),
    "metrics": ("ReliabilityTable", "ace", "ece", "mce", "mmce", "reliability_table", "skce"),
    "metrics.average": ("average_calibration_error", "pit"),
    "metrics.forecast_scores": (
        "CoverageTable", "crps", "distribution_calibration_error", "interval_coverage",
        "log_score",
    ),
    "metrics.scores": ("brier_score", "log_loss"),
    "metrics.threshold": ("ThresholdCalibrationError", "threshold_calibration_error"),
    "recalibration": (
        "AverageRecalibration", "DistributionRecalibration", "ThresholdRecalibration",
        "ThresholdwiseRecalibration",
    ),
    "reporting": ("Report", "forecast_report", "report"),
    "saving": ("load",),
    "selection": ("AutoCalibration", "CalibratorComparison", "compare_calibrators"),
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
