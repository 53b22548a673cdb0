"""A reliability table in one plain sentence: too extreme, too timid, too high, too low, or fine."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from calibrant.inputs import as_weights
from calibrant.metrics.chance import effective_size
from calibrant.metrics.table import FloatVector, ReliabilityTable

FALSE_ALARMS = 0.01
"""How often a perfectly calibrated forecast is found miscalibrated; shared by all looks taken."""

_EPS = float(np.finfo(np.float64).eps)

# The normal approximation of |gap| needs bins whose number of events varies by a few.
_MIN_EVENT_VARIANCE = 5.0


@dataclass(frozen=True)
class Verdict:
    """What a reliability table says, in words and in the numbers behind them.

    Made by `verdict`. In a classwise table all but `ece` and `expected_ece` are about the class
    with the strongest evidence against it.

    Attributes
    ----------
    text : str
        One sentence.
    findings : tuple of str
        Any of "overconfident", "underconfident", "biased_high", "biased_low", or "miscalibrated"
        where the gaps follow none of these patterns; empty if there is no clear sign.
    label : label or None
        The class that the verdict is about, in a classwise table.
    ece : float
        Expected calibration error of the table.
    expected_ece : float
        What a perfectly calibrated forecast of this size would show by chance, about.
    bias, bias_z : float
        Mean prediction minus observed frequency, and the same in standard errors.
    spread, spread_z : float or None
        Slope of the observed frequencies on the predictions, minus one: negative where the
        predictions are too extreme; and the same in standard errors. None for a table of the top
        label, or where all predictions are in one bin.
    excess_z : float
        Mean absolute gap minus what chance gives, in standard errors, over the well-filled bins.
    """

    text: str
    findings: tuple[str, ...]
    label: Any
    ece: float
    expected_ece: float
    bias: float
    bias_z: float
    spread: float | None
    spread_z: float | None
    excess_z: float

    def to_dict(self) -> dict[str, Any]:
        """The attributes as JSON-able values."""
        return asdict(self) | {"findings": list(self.findings)}


@dataclass(frozen=True)
class _Evidence:
    """One panel compared with what a perfectly calibrated forecast would give."""

    label: Any
    mean_prob: float
    observed: float
    bias_z: float
    spread: float | None
    spread_z: float | None
    excess_z: float
    expected_ece: float

    @property
    def bias(self) -> float:
        return self.mean_prob - self.observed

    @property
    def strength(self) -> float:
        return max(abs(self.bias_z), abs(self.spread_z or 0.0), self.excess_z)


def verdict(table: ReliabilityTable, *, sample_weight: Any = None) -> Verdict:
    r"""Say in one sentence how a forecast is miscalibrated, or that there is no clear sign of it.

    Parameters
    ----------
    table : ReliabilityTable
        Of any kind. For the confidence of a multiclass forecast pass its "confidence" table; a
        classwise one gives a verdict on the class with the strongest evidence against it.
    sample_weight : array-like of shape (n,), optional
        The weights that the table was made with. Where all are whole numbers, a row of weight w
        counts as w rows. Others are rescaled to add up to Kish's effective number of rows,
        :math:`(\sum w)^2 / \sum w^2`. Without them the table has to tell: where its bins hold
        whole numbers, no less than their rows, these are counts; others are rescaled to add up to
        the number of rows, which is too many where weights differ much.

    Returns
    -------
    Verdict

    Raises
    ------
    ValueError
        If `sample_weight` are no weights, or do not add up to what the table holds.

    Notes
    -----
    With :math:`W_b` the weight, :math:`c_b` the mean prediction and :math:`o_b` the observed
    frequency of bin b, :math:`o_b` varies around :math:`c_b` with variance
    :math:`v_b = c_b(1 - c_b) / W_b` if the forecast is calibrated. Three looks are taken:

    * bias, :math:`\sum_b W_b (c_b - o_b) / W`;
    * spread, the least-squares slope of :math:`o_b` on :math:`c_b` with weights :math:`W_b`, minus
      one (not for the top label, where the mean confidence minus the accuracy is what is called
      over- or underconfidence);
    * excess of :math:`\sum_b W_b |c_b - o_b| / W` over its expectation
      :math:`\sum_b W_b \sqrt{2 v_b / \pi} / W`, for gaps that follow no such pattern.

    Each is divided by its standard error (bias and spread after moving them half an event towards
    zero) and compared with the normal quantile at which all looks together give a false alarm in
    about one of a hundred calibrated forecasts: 2.9 for a binary table. Time O(number of bins),
    and O(n) with `sample_weight`.

    References
    ----------
    Kish, L. (1965). Survey Sampling. Wiley.

    Examples
    --------
    >>> from calibrant import reliability_table
    >>> from calibrant.metrics import verdict
    >>> table = reliability_table([1, 0] * 100, [0.7] * 200)
    >>> print(verdict(table).text)
    Biased high: the mean prediction, 70%, is 20 percentage points above the observed frequency,
    50% (ECE 0.2; a perfectly calibrated forecast of this size would show about 0.026 by chance).
    """
    scale = _rows_per_weight(table, sample_weight)
    if table.kind == "classwise":
        panels = [_examine(panel, label, scale) for label, panel in table.by_class().items()]
    else:
        panels = [_examine(table, None, scale)]
    worst = max(panels, key=lambda panel: panel.strength)
    n_looks = len(panels) * (2 if worst.spread_z is None else 3)
    threshold = NormalDist().inv_cdf(1 - FALSE_ALARMS / (2 * n_looks))
    expected_ece = float(np.mean([panel.expected_ece for panel in panels]))
    findings, reasons = _conclude(worst, table.kind == "confidence", threshold)
    by_chance = (
        "a perfectly calibrated forecast of this size would show about "
        f"{expected_ece:.2g} by chance"
    )
    if findings:
        where = "" if worst.label is None else f" for class {worst.label!r}"
        text = (
            f"{' and '.join(findings).capitalize()}{where}: {', and '.join(reasons)} "
            f"(ECE {table.ece():.2g}; {by_chance})."
        )
    else:
        text = f"No clear sign of miscalibration: ECE {table.ece():.2g}, and {by_chance}."
    return Verdict(
        text=text,
        findings=tuple(finding.replace(" ", "_") for finding in findings),
        label=worst.label,
        ece=table.ece(),
        expected_ece=expected_ece,
        bias=worst.bias,
        bias_z=worst.bias_z,
        spread=worst.spread,
        spread_z=worst.spread_z,
        excess_z=worst.excess_z,
    )


def _rows_per_weight(table: ReliabilityTable, sample_weight: Any) -> float:
    """How many rows a weight of one amounts to."""
    held, n_panels = table.weight, len(table.edges)
    if sample_weight is None:
        counted = (held == np.floor(held)) & (held >= table.count)
        return 1.0 if counted.all() else float(table.count.sum() / held.sum())
    weight = as_weights(sample_weight, len(sample_weight))
    assert weight is not None
    total = float(held.sum()) / n_panels
    if not math.isclose(weight.sum(), total, rel_tol=1e-6):
        raise ValueError(
            f"sample_weight adds up to {weight.sum():.6g}, but the rows of the table to "
            f"{total:.6g}: pass the weights that the table was made with."
        )
    if np.array_equal(weight, np.floor(weight)):
        return 1.0
    return effective_size(len(weight), weight) / total


def _examine(table: ReliabilityTable, label: Any, scale: float) -> _Evidence:
    """The three looks at the one panel of a table, whose weights are times `scale` in rows."""
    filled = table.count > 0
    weight, prob, gap = scale * table.weight[filled], table.mean_prob[filled], table.gap[filled]
    total = float(weight.sum())
    mean_prob = float(weight @ prob) / total
    expected = np.sqrt(2 / math.pi * weight * prob * (1 - prob))
    # Doubles do not tell a probability within eps of 0 or 1 from 0 or 1.
    variance = weight * np.maximum(prob * (1 - prob), _EPS)

    spread = spread_z = None
    distance = prob - mean_prob
    if table.kind != "confidence" and len(prob) > 1:
        spread = _slope(weight, distance, table.observed[filled]) - 1.0
        spread_z = _in_standard_errors(weight * gap, variance, distance)

    well = variance >= _MIN_EVENT_VARIANCE
    excess_z = 0.0
    if well.sum() > 1:  # of a single bin, the bias says it all
        excess = float((weight * np.abs(gap) - expected)[well].sum())
        excess_z = excess / math.sqrt((1 - 2 / math.pi) * float(variance[well].sum()))
    return _Evidence(
        label=label,
        mean_prob=mean_prob,
        observed=float(table.sum_true.sum() / table.weight.sum()),
        bias_z=-_in_standard_errors(weight * gap, variance, np.ones_like(prob)),
        spread=spread,
        spread_z=spread_z,
        excess_z=excess_z,
        expected_ece=float(expected.sum()) / total,
    )


def _slope(weight: FloatVector, distance: FloatVector, observed: FloatVector) -> float:
    """Of the observed frequencies on the predictions; what is within rounding of zero is zero."""
    per_distance = weight * distance / (weight @ distance**2)
    slope = float(per_distance @ (observed - weight @ observed / weight.sum()))
    rounding = 8.0 * _EPS * float(np.abs(per_distance) @ observed)
    return slope if abs(slope) > rounding else 0.0


def _in_standard_errors(events: FloatVector, variance: FloatVector, factor: FloatVector) -> float:
    """A weighted sum of surplus events, moved half an event towards zero, over its error."""
    sum_ = float(factor @ events)
    half = 0.5 * float(np.abs(factor).max())
    return math.copysign(max(abs(sum_) - half, 0.0), sum_) / math.sqrt(factor**2 @ variance)


def _conclude(
    panel: _Evidence, confidence: bool, threshold: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The findings, and for each of them the reason in words."""
    findings = {}
    biased = abs(panel.bias_z) > threshold
    if panel.spread is not None and abs(panel.spread_z or 0.0) > threshold:
        over = panel.spread < 0
        findings["overconfident" if over else "underconfident"] = _spread_reason(panel.spread)
    if biased and confidence:
        over = panel.bias > 0
        findings["overconfident" if over else "underconfident"] = _bias_reason(
            panel, "mean confidence", "accuracy"
        )
    elif biased:
        findings["biased high" if panel.bias > 0 else "biased low"] = _bias_reason(
            panel, "mean prediction", "observed frequency"
        )
    if not findings and panel.excess_z > threshold:
        findings["miscalibrated"] = (
            "predictions are neither too extreme nor too high or low on the whole, but bin by bin "
            "they are off"
        )
    return tuple(findings), tuple(findings.values())


def _spread_reason(spread: float) -> str:
    moved = 10 * (1 + spread)
    if moved == 0:
        return "observed frequencies do not depend on the predictions"
    if moved < 0:
        how = "point the wrong way"
    else:
        how = "are too extreme" if spread < 0 else "are not extreme enough"
    return (
        f"predictions {how}, observed frequencies {'falling' if moved < 0 else 'rising'} by "
        f"{abs(moved):.3g} percentage points where predictions rise by 10"
    )


def _bias_reason(panel: _Evidence, predicted: str, happened: str) -> str:
    return (
        f"the {predicted}, {100 * panel.mean_prob:.3g}%, is {abs(100 * panel.bias):.3g} percentage "
        f"points {'above' if panel.bias > 0 else 'below'} the {happened}, "
        f"{100 * panel.observed:.3g}%"
    )
