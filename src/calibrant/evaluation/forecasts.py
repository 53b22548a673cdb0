"""All measures of a forecast against its outcomes, with what chance alone would make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant import (
    CoverageTable,
    DecisionTable,
    ThresholdCalibrationError,
    average_calibration_error,
    crps,
    decision_table,
    interval_coverage,
    log_score,
    pit,
    threshold_calibration_error,
)
from calibrant.evaluation.verdict import Verdict, verdict
from calibrant.forecasts import Ensemble, Forecast
from calibrant.forecasts.base import Floats
from calibrant.metrics.chance import effective_size, error_by_chance
from calibrant.recalibration import Recalibrated

Progress = Callable[[str, int, int], None]

_N_STEPS = 5


@dataclass(frozen=True)
class Evaluation:
    """How far forecasts agree with the outcomes; "by chance" is of a calibrated forecast."""

    n: int
    verdict: Verdict
    average: float
    average_by_chance: float
    threshold: ThresholdCalibrationError
    threshold_by_chance: float
    coverage: CoverageTable
    crps: float
    """nan where the tails are too heavy for it."""
    log_score: float | None
    """None where there is no density; infinite where an outcome had none."""
    decisions: DecisionTable
    gap_by_chance: float

    @property
    def gap(self) -> float:
        """The reliability gap, averaged over all decision makers and rules."""
        return self.decisions.overall()["reliability_gap"]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-able values."""
        threshold = self.threshold
        known = self.log_score is not None and np.isfinite(self.log_score)
        return {
            "n": self.n,
            "verdict": self.verdict.to_dict(),
            "average_calibration_error": {
                "estimate": self.average,
                "by_chance": self.average_by_chance,
            },
            "threshold_calibration_error": {
                "mean": finite(threshold.mean),
                "by_chance": finite(self.threshold_by_chance),
                "max": finite(threshold.max),
                "share_above_null": finite(threshold.share_above_null),
                **threshold.to_dict(),
            },
            "interval_coverage": self.coverage.to_dict(),
            "crps": finite(self.crps),
            "log_score": self.log_score if known else None,
            "reliability_gap": {"estimate": self.gap, "by_chance": self.gap_by_chance},
            "decision_table": self.decisions.to_dict(),
        }


def evaluate(
    forecast: Forecast,
    y: Floats,
    weight: Floats | None,
    *,
    seed: int,
    progress: Progress = lambda title, done, total: None,
) -> Evaluation:
    """Measure the forecasts. Where a CDF jumps at an outcome, its PIT is drawn from the jump."""
    weighted: dict[str, Any] = {"sample_weight": weight}
    drawn: dict[str, Any] = {"method": "randomized", "random_state": seed}
    progress("average calibration", 0, _N_STEPS)
    pits = pit(forecast, y, **drawn)
    average = average_calibration_error(forecast, y, **drawn, **weighted)
    coverage = interval_coverage(forecast, y, **weighted)
    progress("threshold calibration", 1, _N_STEPS)
    threshold = threshold_calibration_error(forecast, y, **drawn, **weighted)
    progress("scores", 2, _N_STEPS)
    score = _crps(forecast, y, weight)
    log = _log_score(forecast, y, weight)
    progress("decisions", 3, _N_STEPS)
    # Beyond these quantiles there is nobody to decide about, and every forecast is right.
    low, high = np.quantile(y if weight is None else y[weight > 0.0], (0.02, 0.98))
    thresholds = np.linspace(low, high, 50)
    options: dict[str, Any] = {"total": 1.0, "strict": False, "n_resamples": 0}
    decisions = decision_table(forecast, y, thresholds=thresholds, **options, **weighted)
    progress("decisions", 4, _N_STEPS)
    return Evaluation(
        n=len(forecast),
        verdict=verdict(pits, weight, average, threshold, _steps(forecast)),
        average=average,
        average_by_chance=float(error_by_chance(effective_size(len(y), weight))),
        threshold=threshold,
        threshold_by_chance=_threshold_by_chance(threshold, len(y), weight),
        coverage=coverage,
        crps=score,
        log_score=log,
        decisions=decisions,
        gap_by_chance=_gap_by_chance(forecast, weight, decisions),
    )


def finite(value: float) -> float | None:
    """None in place of what JSON does not have."""
    return value if np.isfinite(value) else None


def _crps(forecast: Forecast, y: Floats, weight: Floats | None) -> float:
    try:
        return crps(forecast, y, sample_weight=weight)
    except ValueError:  # Student's t without a mean
        return float("nan")


def _log_score(forecast: Forecast, y: Floats, weight: Floats | None) -> float | None:
    try:
        return log_score(forecast, y, sample_weight=weight)
    except ValueError:  # ensembles and point masses have no density
        return None


def _steps(forecast: Forecast) -> float:
    """What the steps of an ensemble add to an average calibration error, at most.

    The rank of an outcome among m exchangeable members takes m + 1 values with equal probability,
    and the distribution of k / m is 1 / (3m) from the uniform one.
    """
    size = ensemble_size(forecast)
    return 0.0 if size is None else 1.0 / (3.0 * size)


def ensemble_size(forecast: Forecast) -> int | None:
    """How many members an ensemble has; None for other forecasts."""
    base = forecast.base if isinstance(forecast, Recalibrated) else forecast
    return base.members.shape[1] if isinstance(base, Ensemble) else None


def _threshold_by_chance(found: ThresholdCalibrationError, n: int, weight: Floats | None) -> float:
    """The mean threshold calibration error to be expected of calibrated forecasts."""
    known = ~np.isnan(found.value)
    if not known.any():
        return float("nan")
    sizes = np.stack([found.n_lower[known], found.n_upper[known]])
    effective = sizes * effective_size(n, weight) / sizes.sum(axis=0)
    return float(error_by_chance(effective).sum(axis=0).mean())


def _gap_by_chance(forecast: Forecast, weight: Floats | None, table: DecisionTable) -> float:
    """The reliability gap to be expected of these forecasts if they were calibrated.

    What a maker is promised minus what he gets has mean 0 then, and the variance
    sum of w^2 F (1 - F) k^2 / (sum of w)^2, with k the cost of a false positive in rows where he
    acts and of a false negative in the others; a normal one of that variance is as large as
    sqrt(2 / pi) times its root on average.
    """
    share = np.full(len(forecast), 1.0 / len(forecast)) if weight is None else weight / weight.sum()
    levels = np.sort(table.levels)
    false_positive = (table.total * table.cost_ratios[:, None]) ** 2
    false_negative = (table.total * (1.0 - table.cost_ratios[:, None])) ** 2
    gaps = []
    for threshold in table.thresholds:
        prob = forecast.cdf(threshold)
        bucket = np.searchsorted(levels, prob, side="right")
        variance = np.bincount(bucket, share**2 * prob * (1.0 - prob), len(levels) + 1)
        below = np.cumsum(variance)
        acting, waiting = below[-1] - below[:-1], below[:-1]
        gaps.append(np.sqrt(false_positive * acting + false_negative * waiting).mean())
    return float(np.sqrt(2.0 / np.pi) * np.mean(gaps))
