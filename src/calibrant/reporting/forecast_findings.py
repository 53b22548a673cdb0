"""All that the report on forecasts says, computed; showing it is another matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.evaluation.forecasts import Evaluation, evaluate
from calibrant.forecasts.base import Floats
from calibrant.inference.kernel_test import evidence
from calibrant.metrics.average import pit
from calibrant.metrics.chance import error_by_chance
from calibrant.metrics.forecast_scores import interval_coverage
from calibrant.reporting import slices, stakes
from calibrant.reporting.forecast_intervals import (
    Interval,
    average_error,
    intervals,
    uniform_pvalue,
)
from calibrant.reporting.forecast_repairs import RECALIBRATED, Repair, repair
from calibrant.reporting.forecast_rows import Rows
from calibrant.reporting.headline import Headline, headline
from calibrant.reporting.slices import Group, starts_or_ends
from calibrant.reporting.stakes import AS_THEY_ARE, Stakes

_CONFIDENCE = 0.9


@dataclass(frozen=True)
class Findings:
    """What was found; `repair` is None where there is none, `problem` says why.

    `pvalue` is of Kolmogorov's test of uniform PITs, None for a single row.
    """

    rows: Rows
    evaluation: Evaluation
    intervals: dict[str, Interval]
    pvalue: float | None
    repair: Repair | None
    problem: str
    groups: tuple[Group, ...]
    stakes: Stakes

    @property
    def headline(self) -> Headline:
        return headline(bool(self.evaluation.verdict.findings), self.pvalue, self.groups)

    @property
    def widened(self) -> bool:
        """Whether an interval was widened to hold its estimate."""
        shown = [*self.intervals.values(), *slices.intervals(self.groups)]
        return any(starts_or_ends(*one) for one in shown)

    @property
    def interpretation(self) -> str:
        """What the p-value means, in words."""
        found = evidence(1.0 if self.pvalue is None else self.pvalue)
        return f"{found.capitalize()} of miscalibration on average."


def find(rows: Rows, groups: NDArray[Any] | None, *, n_resamples: int, seed: int) -> Findings:
    """Look at the forecasts from all sides."""
    pits = pit(rows.forecast, rows.y, method="randomized", random_state=seed)
    evaluation = evaluate(rows.forecast, rows.y, rows.weight, seed=seed)
    found = repair(rows, seed)
    repaired, problem = (None, found) if isinstance(found, str) else (found, "")
    return Findings(
        rows=rows,
        evaluation=evaluation,
        intervals=intervals(rows, pits, evaluation, n_resamples, seed),
        pvalue=uniform_pvalue(pits, rows.weight, rows.size, rows.forecast),
        repair=repaired,
        problem=problem,
        groups=() if groups is None else _groups(rows, pits, groups, n_resamples, seed),
        stakes=_stakes(rows, repaired),
    )


def _stakes(rows: Rows, repaired: Repair | None) -> Stakes:
    """Of held-out rows, where there are any."""
    if repaired is None:
        return stakes.of_outcomes({AS_THEY_ARE: rows.forecast}, rows.y, rows.weight)
    held_out = repaired.held_out
    both = {AS_THEY_ARE: held_out.forecast, RECALIBRATED: repaired.recalibrated}
    return stakes.of_outcomes(both, held_out.y, held_out.weight)


def _groups(
    rows: Rows, pits: Floats, groups: NDArray[Any], n_resamples: int, seed: int
) -> tuple[Group, ...]:
    def look(label: Any, own: NDArray[np.intp], n_groups: int) -> Group:
        part, values = rows.take(own), pits[own]
        coverage = interval_coverage(
            part.forecast, part.y, confidence=[_CONFIDENCE], sample_weight=part.weight
        )
        error = average_error(values, part.weight, n_resamples, seed)
        return Group(
            label=label,
            n=len(own),
            predicted=_CONFIDENCE,
            observed=float(coverage.coverage[0]),
            error=error.estimate,
            low=error.low if len(own) > 1 else float("nan"),
            high=error.high if len(own) > 1 else float("nan"),
            by_chance=float(error_by_chance(part.size)),
            pvalue=uniform_pvalue(values, part.weight, part.size, part.forecast),
        )

    return slices.examine(groups, look)
