"""All that the report on class probabilities says, computed; showing it is another matter."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from calibrant.inference import CalibrationTest, calibration_test, confidence_interval
from calibrant.metrics import ReliabilityTable, Verdict, reliability_table, verdict
from calibrant.percentiles import percentile_interval
from calibrant.reporting import slices, stakes
from calibrant.reporting.headline import Headline, headline
from calibrant.reporting.sample import Floats, Sample
from calibrant.reporting.slices import Group, starts_or_ends
from calibrant.reporting.stakes import AS_THEY_ARE, Stakes
from calibrant.selection import CalibratorComparison, compare_calibrators
from calibrant.selection.candidates import UNCALIBRATED
from calibrant.selection.resampling import Outcomes, on_resamples

METRICS = ("log_loss", "brier", "ece")


@dataclass(frozen=True)
class Measure:
    """A metric with its interval, and what it is."""

    key: str
    title: str
    meaning: str
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Findings:
    """What was found in a sample.

    `comparison` is None where no calibrator could be fitted, `problem` says why. `after` is the
    sample with the out-of-fold predictions of the recommended calibrator, None where that is to
    keep the predictions. `test` is None where there are weights, or a single row.
    """

    sample: Sample
    verdict: Verdict
    table: ReliabilityTable
    classwise: ReliabilityTable
    measures: tuple[Measure, ...]
    test: CalibrationTest | None
    comparison: CalibratorComparison | None
    problem: str
    after: Sample | None
    after_table: ReliabilityTable | None
    after_test: CalibrationTest | None
    groups: tuple[Group, ...]
    stakes: Stakes

    @property
    def headline(self) -> Headline:
        pvalue = None if self.test is None else self.test.pvalue
        return headline(bool(self.verdict.findings), pvalue, self.groups)

    @property
    def widened(self) -> bool:
        """Whether an interval was widened to hold its estimate."""
        shown = [(one.estimate, one.low, one.high) for one in self.measures]
        if self.comparison is not None:
            for scores in self.comparison.scores.values():
                change = scores["log_loss"].minus_uncalibrated
                shown.append((change.estimate, change.low, change.high))
        return any(starts_or_ends(*one) for one in [*shown, *slices.intervals(self.groups)])

    @property
    def recommended(self) -> str | None:
        """The calibrator, None for none."""
        return (
            None if self.comparison is None or self.after is None else self.comparison.recommended
        )


def find(sample: Sample, groups: NDArray[Any] | None, *, n_resamples: int, seed: int) -> Findings:
    """Look at the predictions from all sides."""
    table = top_table(sample)
    comparison, problem = _compare(sample, n_resamples, seed)
    after = None
    if comparison is not None and comparison.recommended != UNCALIBRATED:
        after = replace(sample, prob=comparison.predictions[comparison.recommended])
    events = {AS_THEY_ARE: sample.event()}
    if after is not None and comparison is not None:
        events[comparison.recommended] = after.event()
    return Findings(
        sample=sample,
        verdict=verdict(table, sample_weight=sample.weight),
        table=table,
        classwise=reliability_table(sample.y, sample.prob, **sample.options),
        measures=_measures(sample, n_resamples, seed),
        test=_test(sample, n_resamples, seed),
        comparison=comparison,
        problem=problem,
        after=after,
        after_table=None if after is None else top_table(after),
        after_test=None if after is None else _test(after, n_resamples, seed),
        groups=() if groups is None else _groups(sample, groups, n_resamples, seed),
        stakes=stakes.of_events(events, sample.weight, accepting=not sample.binary),
    )


def top_table(sample: Sample) -> ReliabilityTable:
    """Of the second of two classes, or of the top label."""
    table: ReliabilityTable = reliability_table(
        sample.y, sample.prob, kind="confidence", **sample.options
    )
    return table


def _measures(sample: Sample, n_resamples: int, seed: int) -> tuple[Measure, ...]:
    sampling: dict[str, Any] = {"n_resamples": n_resamples, "random_state": seed}
    found = []
    for key, title, meaning, metric, options in _wanted(sample.binary):
        interval = confidence_interval(
            sample.y, sample.prob, metric=metric, **options, **sampling, **sample.options
        )
        found.append(Measure(key, title, meaning, interval.estimate, interval.low, interval.high))
    outcomes = Outcomes(sample.codes, len(sample.classes), sample.weight)
    squared = "squared error of the probabilities"
    for key, title, meaning in (
        ("brier", "Brier score",
         f"mean {squared}; 0 is best" if sample.binary else
         f"{squared}, summed over the classes, mean over the rows; 0 is best"),
        ("log_loss", "Log loss", "mean surprise at what happened, in nats; 0 is best"),
    ):  # fmt: skip
        estimate, values = on_resamples(key, [sample.prob], outcomes, n_resamples, seed)
        low, high = percentile_interval(estimate[0], values[0], 0.95)
        found.append(Measure(key, title, meaning, float(estimate[0]), float(low), float(high)))
    return tuple(found)


def _wanted(binary: bool) -> list[tuple[str, str, str, str, dict[str, Any]]]:
    gap = "mean gap between prediction and frequency, over ten bins"
    squared = {"norm": "l2", "debiased": True}
    if binary:
        return [
            ("ece", "ECE", gap, "ece", {}),
            ("ece_l2_debiased", "Squared ECE, debiased",
             "mean squared gap less what chance adds; about 0 if calibrated", "ece", squared),
            ("mce", "MCE", "largest gap of a bin", "mce", {}),
        ]  # fmt: skip
    top = {"kind": "confidence"}
    return [
        ("ece_confidence", "ECE, top label", gap, "ece", top),
        ("ece_classwise", "ECE, classwise", "the same of each class, their mean", "ece", {}),
        ("ece_l2_debiased", "Squared ECE, debiased",
         "of the top label, less what chance adds; about 0 if calibrated", "ece", squared | top),
        ("mce", "MCE, top label", "largest gap of a bin", "mce", top),
    ]  # fmt: skip


def _test(sample: Sample, n_resamples: int, seed: int) -> CalibrationTest | None:
    if sample.weight is not None or sample.n < 2:
        return None
    return calibration_test(
        sample.y,
        sample.prob,
        kind="canonical" if sample.binary else "confidence",
        n_resamples=n_resamples,
        random_state=seed,
        labels=sample.labels,
    )


def _compare(
    sample: Sample, n_resamples: int, seed: int
) -> tuple[CalibratorComparison | None, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the comparison has them as notes
        try:
            found = compare_calibrators(
                sample.prob if sample.logits is None else sample.logits,
                sample.y,
                input="probability" if sample.logits is None else "logit",
                metrics=METRICS,
                n_resamples=n_resamples,
                random_state=seed,
                **sample.options,
            )
        except ValueError as error:
            return None, str(error)
    return found, ""


def _groups(sample: Sample, groups: NDArray[Any], n_resamples: int, seed: int) -> tuple[Group, ...]:
    def look(label: Any, rows: NDArray[np.intp], n_groups: int) -> Group:
        part = sample.take(rows)
        prob, event = part.event()
        table = top_table(part)
        low = high = float("nan")
        if part.n > 1:
            interval = confidence_interval(
                part.y, part.prob, kind="confidence", n_resamples=n_resamples, random_state=seed,
                **part.options,
            )  # fmt: skip
            low, high = interval.low, interval.high
        # Enough for the smallest p-value, corrected for all groups, to be well below the level.
        n_signs = max(n_resamples, round(4 * n_groups / slices.LEVEL) - 1)
        return Group(
            label=label,
            n=part.n,
            predicted=float(np.average(prob, weights=part.weight)),
            observed=float(np.average(event, weights=part.weight)),
            error=table.ece(),
            low=low,
            high=high,
            by_chance=verdict(table, sample_weight=part.weight).expected_ece,
            pvalue=_pvalue(part, n_signs, seed),
        )

    return slices.examine(groups, look)


def _pvalue(part: Sample, n_resamples: int, seed: int) -> float | None:
    """Of the kernel test; with weights, which that does not take, of the mean gap."""
    if part.weight is None:
        test = _test(part, n_resamples, seed)
        return None if test is None else test.pvalue
    prob, event = part.event()
    return mean_gap_pvalue(prob, event, part.weight)


def mean_gap_pvalue(prob: Floats, event: NDArray[np.bool_], weight: Floats) -> float | None:
    """Two-sided, of the weighted sum of outcome minus prediction; weights are of importance."""
    variance = float(weight**2 @ (prob * (1.0 - prob)))
    if variance <= 0.0:
        return None
    return float(2.0 * ndtr(-abs(weight @ (event - prob)) / np.sqrt(variance)))
