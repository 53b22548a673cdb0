"""One sentence on how a forecast is miscalibrated, or that there is no clear sign of it.

Four looks are taken, each with a false alarm in one of four hundred calibrated forecasts, so that
one of a hundred is called miscalibrated:

* bias: the mean of the PITs u, which is 1/2 with a standard error of sqrt(1 / 12n);
* spread: the mean of abs(2u - 1), likewise. One minus it is the share of outcomes in central
  intervals, averaged over what they promise;
* shape: the average calibration error;
* decisions: the largest threshold calibration error on the grid. A single cell exceeds its limit in
  one of ten thousand calibrated forecasts, and the cells are far from independent.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import special

from calibrant import ThresholdCalibrationError
from calibrant.forecasts.base import Floats
from calibrant.metrics.chance import effective_size
from calibrant.metrics.null_errors import null_quantiles

_FALSE_ALARM = 0.01 / 4
_LIMIT_Z = float(special.ndtri(1.0 - _FALSE_ALARM / 2.0))
_CELL_LEVEL = 0.9999


@dataclass(frozen=True)
class Verdict:
    """What was found, and the evidence.

    The shares are those of the rows: outcomes above the predicted median, and outcomes within
    central intervals, averaged over all confidences from 0 to 1. `findings` holds "biased low",
    "biased high", "overconfident", "underconfident", "shape" and "decisions".
    """

    findings: tuple[str, ...]
    text: str
    above_median: float
    mean_coverage: float
    bias_z: float
    spread_z: float
    shape_ratio: float
    decisions_ratio: float

    def to_dict(self) -> dict[str, Any]:
        """The attributes as JSON-able values."""
        return asdict(self) | {"findings": list(self.findings)}


def verdict(
    pits: Floats,
    weight: Floats | None,
    average_error: float,
    threshold: ThresholdCalibrationError,
    steps: float,
) -> Verdict:
    """Look at the PITs and the errors; `steps` is the error that an ensemble's steps add."""
    n = effective_size(len(pits), weight)
    error = np.sqrt(1.0 / (12.0 * n))
    bias_z = (float(np.average(pits, weights=weight)) - 0.5) / error
    distance = float(np.average(np.abs(2.0 * pits - 1.0), weights=weight))
    spread_z = (distance - 0.5) / error
    limit = float(null_quantiles(np.array([n]), np.zeros(1), 1.0 - _FALSE_ALARM)[0]) + steps
    findings = []
    if abs(bias_z) > _LIMIT_Z:
        findings.append("biased low" if bias_z > 0 else "biased high")
    if abs(spread_z) > _LIMIT_Z:
        findings.append("overconfident" if spread_z > 0 else "underconfident")
    shape_ratio = average_error / limit
    if shape_ratio > 1 and not findings:
        findings.append("shape")
    decisions_ratio = _largest_ratio(threshold, n, 2.0 * steps)
    if decisions_ratio > 1:
        findings.append("decisions")
    above = float(np.average(pits > 0.5, weights=weight))
    text = _text(findings, above, 1.0 - distance, average_error, threshold.max)
    return Verdict(
        tuple(findings), text, above, 1.0 - distance, bias_z, spread_z, shape_ratio, decisions_ratio
    )


def _largest_ratio(found: ThresholdCalibrationError, n: float, steps: float) -> float:
    """The largest of the errors over their limits; 0 if no groups are large enough."""
    known = ~np.isnan(found.value)
    if not known.any():
        return 0.0
    lower, upper = found.n_lower[known], found.n_upper[known]
    per_weight = n / (lower + upper)
    limit = null_quantiles(lower * per_weight, upper * per_weight, _CELL_LEVEL) + steps
    return float((found.value[known] / limit).max())


def _text(
    findings: list[str], above: float, coverage: float, average: float, largest: float
) -> str:
    if not findings:
        return "No clear sign of miscalibration: what is seen can be chance."
    # Not about the 50 % intervals: a mean over those of all levels.
    spread = (
        f"central intervals hold {_percent(coverage)} of the outcomes where they promise 50 %, on "
        "average over all levels"
    )
    facts = {
        "biased": f"{_percent(above)} of the outcomes lie above the predicted median",
        "overconfident": spread,
        "underconfident": spread,
        "shape": f"the average calibration error of {average:.3f} is more than chance",
        "decisions": "among the rows that a threshold decision picks out, the calibration error "
        f"reaches {largest:.3f}",
    }
    names = {"shape": "miscalibrated", "decisions": "not to be trusted for threshold decisions"}
    *others, last = (names.get(finding, finding) for finding in findings)
    heading = f"{', '.join(others)} and {last}" if others else last
    told = "; ".join(facts[finding.partition(" ")[0]] for finding in findings)
    return f"{heading[0].upper()}{heading[1:]}: {told}."


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"
