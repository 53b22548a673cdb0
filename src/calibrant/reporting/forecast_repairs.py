"""What recalibrations that were fitted on some of the rows do to the others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.decisions import decision_table
from calibrant.evaluation.forecasts import Evaluation, evaluate
from calibrant.forecasts import Forecast
from calibrant.metrics.average import average_calibration_error
from calibrant.metrics.forecast_scores import crps
from calibrant.recalibration import (
    AverageRecalibration,
    DistributionRecalibration,
    ThresholdRecalibration,
    ThresholdwiseRecalibration,
)
from calibrant.recalibration.base import Recalibration
from calibrant.reporting.forecast_rows import Rows
from calibrant.reporting.stakes import AS_THEY_ARE

FEWEST_ROWS = 60
"""To fit a recalibration on two thirds of."""

MOST_ROWS = 50_000
"""To fit a thresholdwise recalibration on, which takes long."""

SCORED_ROWS = 1_000
"""The most held-out rows whose CRPS the table of recalibrations has: that takes longest."""

RECALIBRATED = "recalibrated"
_HELD_OUT = 1 / 3


@dataclass(frozen=True)
class Candidate:
    """A recalibration by its measures of held-out rows; `problem` says why there are none."""

    name: str
    gap: float | None = None
    average: float | None = None
    crps: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Repair:
    """What a recalibration fitted on the other rows does to those that were held out.

    `candidates` are other recalibrations, too, and none at all; their CRPS is of `n_scored` rows.
    """

    recalibration: ThresholdRecalibration
    n_fitted: int
    held_out: Rows
    recalibrated: Forecast
    before: Evaluation
    after: Evaluation
    candidates: tuple[Candidate, ...]
    n_scored: int

    @property
    def shown(self) -> str:
        """The name of the candidate that it is about."""
        return type(self.recalibration).__name__


def repair(rows: Rows, seed: int) -> Repair | str:
    """Fit on two thirds of the rows, measure on the rest; or say why that cannot be."""
    n = len(rows.y)
    if n < FEWEST_ROWS:
        return "There are too few rows to fit a recalibration on some and measure it on others."
    order = np.random.default_rng(seed).permutation(n)
    n_held_out = round(_HELD_OUT * n)
    held_out = rows.take(np.sort(order[:n_held_out]))
    fitted_rows = rows.take(np.sort(order[n_held_out:]))
    fitted = fit_all(fitted_rows, seed)
    shown = fitted["ThresholdRecalibration"]
    if not isinstance(shown, ThresholdRecalibration):
        return f"Threshold recalibration {shown}"
    before = evaluate(held_out.forecast, held_out.y, held_out.weight, seed=seed)
    after = shown.transform(held_out.forecast)
    scored = _some(n_held_out, seed)
    return Repair(
        recalibration=shown,
        n_fitted=len(fitted_rows.y),
        held_out=held_out,
        recalibrated=after,
        before=before,
        after=evaluate(after, held_out.y, held_out.weight, seed=seed),
        candidates=tuple(
            _measured(name, one, held_out, scored, before, seed)
            for name, one in {AS_THEY_ARE.capitalize(): None, **fitted}.items()
        ),
        n_scored=len(scored),
    )


def fit_all(rows: Rows, seed: int) -> dict[str, Recalibration | str]:
    """A recalibration of each kind by its name, or why there is none."""
    common: dict[str, Any] = {"pit": "randomized", "random_state": seed}
    threshold = ThresholdRecalibration(early_stopping=True, **common)
    parts: list[Recalibration] = [AverageRecalibration(**common), threshold]
    fitted: list[Recalibration | str]
    blend: Recalibration | str = (
        f"is left out: it takes long on more than {MOST_ROWS:,} rows."
        if len(rows.y) > MOST_ROWS
        else _fit(ThresholdwiseRecalibration(parts, **common), rows)
    )
    if isinstance(blend, ThresholdwiseRecalibration):
        fitted = [*blend.recalibrations_]  # the others, fitted on the same rows
    else:
        fitted = [_fit(one, rows) for one in parts]
    cells: Recalibration | str = "is left out: these forecasts have no parameters to make cells of."
    if type(rows.forecast).parameters is not Forecast.parameters:
        cells = _fit(DistributionRecalibration(**common), rows)
    kinds = AverageRecalibration, DistributionRecalibration, ThresholdRecalibration
    found = zip(kinds, (fitted[0], cells, fitted[1]), strict=True)
    return {kind.__name__: one for kind, one in found} | {"ThresholdwiseRecalibration": blend}


def _fit(recalibration: Recalibration, rows: Rows) -> Recalibration | str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it does to other rows is what counts
        try:
            return recalibration.fit(rows.forecast, rows.y, sample_weight=rows.weight)
        except ValueError as error:
            return f"could not be fitted: {error}"


def _measured(
    name: str,
    fitted: Recalibration | str | None,
    held_out: Rows,
    scored: NDArray[np.intp],
    before: Evaluation,
    seed: int,
) -> Candidate:
    if isinstance(fitted, str):
        return Candidate(name, problem=fitted)
    weighted: dict[str, Any] = {"sample_weight": held_out.weight}
    y, some = held_out.y, held_out.take(scored)
    forecast = held_out.forecast
    try:
        if fitted is not None:
            forecast = fitted.transform(forecast)
        table = decision_table(
            forecast, y, thresholds=before.decisions.thresholds, total=1.0, strict=False,
            n_resamples=0, **weighted,
        )  # fmt: skip
        average = average_calibration_error(
            forecast, y, method="randomized", random_state=seed, **weighted
        )
        score = None
        if before.crps == before.crps:
            score = crps(forecast[scored], some.y, sample_weight=some.weight)
    except ValueError as error:
        return Candidate(name, problem=f"could not be measured: {error}")
    return Candidate(name, table.overall()["reliability_gap"], average, score)


def _some(n: int, seed: int) -> NDArray[np.intp]:
    """Rows drawn at random, where there are many."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:SCORED_ROWS])
