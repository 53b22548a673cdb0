"""All that `calibrant evaluate` says of a forecast, computed; printing it is another matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant import (
    CalibrationTest,
    ReliabilityTable,
    ace,
    brier_score,
    calibration_test,
    confidence_interval,
    ece,
    log_loss,
    mce,
    reliability_table,
)
from calibrant.cli.predictions import Data
from calibrant.metrics import Verdict, verdict

Progress = Callable[[str, int, int], None]

_METRICS = {"ece": ece, "mce": mce, "ace": ace}


@dataclass(frozen=True)
class Measure:
    """A metric, with its interval where one was asked for."""

    key: str
    title: str
    estimate: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """How well predictions agree with what happened."""

    n: int
    classes: list[Any]
    rates: dict[Any, float]
    measures: tuple[Measure, ...]
    verdict: Verdict
    table: ReliabilityTable
    worst: tuple[tuple[Any, float], ...]
    test: CalibrationTest | None

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-able values."""
        return {
            "n": self.n,
            "classes": self.classes,
            "rates": {str(label): rate for label, rate in self.rates.items()},
            "metrics": {
                m.key: {"estimate": m.estimate, "low": m.low, "high": m.high} for m in self.measures
            },
            "verdict": self.verdict.to_dict(),
            "table": self.table.to_dict(),
            "test": None if self.test is None else self.test.to_dict(),
        }


def evaluate(
    data: Data,
    *,
    bins: int,
    strategy: str,
    n_resamples: int,
    seed: int,
    progress: Progress = lambda title, done, total: None,
) -> Evaluation:
    """Measure the predictions; intervals and the test take `n_resamples`, none if it is 0."""
    binned: dict[str, Any] = {"n_bins": bins, "strategy": strategy}
    kind = "classwise" if data.binary else "confidence"
    table = reliability_table(data.y, data.prob, kind=kind, **binned, **data.options)
    measures = [
        _measure(data, key, title, options | binned, n_resamples, seed, progress)
        for key, title, options in wanted(data.binary)
    ]
    measures += [
        Measure("brier", "Brier score", brier_score(data.y, data.prob, **data.options)),
        Measure("log_loss", "log loss", log_loss(data.y, data.prob, **data.options)),
    ]
    return Evaluation(
        n=len(data.y),
        classes=data.labels,
        rates=_rates(data),
        measures=tuple(measures),
        verdict=verdict(table, sample_weight=data.weight),
        table=table,
        worst=() if data.binary else _worst_classes(data, binned),
        test=_test(data, n_resamples, seed, progress),
    )


def wanted(binary: bool) -> list[tuple[str, str, dict[str, Any]]]:
    """Keys, titles and options of the metrics of a table."""
    squared = {"metric": "ece", "norm": "l2", "debiased": True}
    if binary:
        return [
            ("ece", "ECE", {"metric": "ece"}),
            ("ece_l2_debiased", "squared ECE, debiased", squared),
            ("mce", "MCE", {"metric": "mce"}),
            ("ace", "ACE", {"metric": "ace"}),
        ]
    kinds = (("confidence", "top label"), ("classwise", "classwise"))
    return [
        (f"{key}_{kind}", f"{title}, {words}", options | {"kind": kind})
        for kind, words in kinds
        for key, title, options in wanted(binary=True)
    ]


def _measure(
    data: Data,
    key: str,
    title: str,
    options: dict[str, Any],
    n_resamples: int,
    seed: int,
    progress: Progress,
) -> Measure:
    if n_resamples == 0:
        metric = _METRICS[options.pop("metric")]
        return Measure(key, title, metric(data.y, data.prob, **options, **data.options))
    interval = confidence_interval(
        data.y,
        data.prob,
        n_resamples=n_resamples,
        random_state=seed,
        progress=lambda done, total: progress(title, done, total),
        **options,
        **data.options,
    )
    return Measure(key, title, interval.estimate, interval.low, interval.high)


def _rates(data: Data) -> dict[Any, float]:
    return {label: float(np.average(data.y == label, weights=data.weight)) for label in data.labels}


def _worst_classes(data: Data, binned: dict[str, Any]) -> tuple[tuple[Any, float], ...]:
    return largest_errors(reliability_table(data.y, data.prob, **binned, **data.options))


def largest_errors(table: ReliabilityTable) -> tuple[tuple[Any, float], ...]:
    """The three classes with the largest error, the worst first."""
    errors = {label: panel.ece() for label, panel in table.by_class().items()}
    return tuple(sorted(errors.items(), key=lambda item: -item[1])[:3])


def _test(data: Data, n_resamples: int, seed: int, progress: Progress) -> CalibrationTest | None:
    """The kernel test (top label of more than two classes); None where it is not defined."""
    if n_resamples == 0 or data.weight is not None or len(data.y) < 2:
        return None
    return calibration_test(
        data.y,
        data.prob,
        kind="canonical" if data.binary else "confidence",
        n_resamples=n_resamples,
        random_state=seed,
        labels=data.labels,
        progress=lambda done, total: progress("test", done, total),
    )
