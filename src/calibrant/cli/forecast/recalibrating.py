"""Fitting a recalibration, and what it does to rows that it was not fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from calibrant import (
    AverageRecalibration,
    DistributionRecalibration,
    ThresholdRecalibration,
    ThresholdwiseRecalibration,
    load,
)
from calibrant.cli.errors import UserError
from calibrant.cli.files import require_file
from calibrant.cli.forecast.columns import Data
from calibrant.evaluation.forecasts import Evaluation, Progress, evaluate
from calibrant.recalibration.base import Recalibration

Method = Literal["average", "distribution", "threshold", "thresholdwise"]

_FEWEST_ROWS = 30
_HELD_OUT = 1 / 3


@dataclass(frozen=True)
class Fitted:
    """A recalibration fitted on all rows, and held-out rows before and after another one."""

    method: Method
    recalibration: Recalibration
    n_fitted: int
    before: Evaluation
    after: Evaluation

    @property
    def shape(self) -> str:
        """How many maps there are, in words."""
        if isinstance(self.recalibration, ThresholdRecalibration):
            return _layers(self.recalibration)
        if isinstance(self.recalibration, DistributionRecalibration):
            return f"maps for {len(self.recalibration.cells_)} cells"
        if isinstance(self.recalibration, ThresholdwiseRecalibration):
            return f"curves at {len(self.recalibration.thresholds_)} thresholds"
        return "one map"

    @property
    def changes(self) -> bool:
        """Whether the saved recalibration does anything at all."""
        return getattr(self.recalibration, "n_iter_", 1) > 0

    def to_dict(self) -> dict[str, Any]:
        """What there is to know of the fit, as JSON-able values."""
        content: dict[str, Any] = {
            "method": self.method,
            "shape": self.shape,
            "fitted_rows": self.n_fitted,
            "held_out_rows": self.before.n,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }
        fitted = self.recalibration
        if isinstance(fitted, ThresholdRecalibration):
            content |= {
                "n_layers": fitted.n_iter_,
                "converged": bool(fitted.converged_),
                "layers": [
                    {"threshold": layer.threshold, "level": layer.level}
                    for layer in fitted.history_
                ],
            }
            if fitted.early_stopping:
                none, average, *layers = fitted.cv_gaps_.tolist()
                gaps = {"no_layer": none, "average": average, "layers": layers}
                content["cross_validated_gaps"] = gaps
        return content


def recalibration_of(
    method: Method,
    *,
    layers: int | None,
    tol: float | None,
    early_stopping: bool,
    seed: int,
) -> Recalibration:
    """The recalibration that the options ask for. Jumps of a CDF give randomized PITs."""
    common: dict[str, Any] = {"pit": "randomized", "random_state": seed}
    if method == "threshold":
        stopping = {"max_iter": layers, "tol": tol}
        given: dict[str, Any] = {
            name: value for name, value in stopping.items() if value is not None
        }
        return ThresholdRecalibration(early_stopping=early_stopping, **given, **common)
    for option, default in (
        ("--layers", layers is None),
        ("--tol", tol is None),
        ("--no-early-stopping", early_stopping),
    ):
        if not default:
            raise UserError(f"{option} is for --method threshold: leave it out.")
    kinds: dict[Method, type[Recalibration]] = {
        "average": AverageRecalibration,
        "distribution": DistributionRecalibration,
        "thresholdwise": ThresholdwiseRecalibration,
    }
    return kinds[method](**common)


def fit(
    make: Callable[[], Recalibration],
    method: Method,
    data: Data,
    *,
    seed: int,
    progress: Progress = lambda title, done, total: None,
) -> Fitted:
    """Fit on two thirds of the rows and measure on the rest, then fit on all rows."""
    assert data.y is not None
    if data.n < _FEWEST_ROWS:
        raise UserError(
            f"{data.columns.table.name} has {data.n} rows: a recalibration needs at least "
            f"{_FEWEST_ROWS}, and some hundreds to be worth it."
        )
    order = np.random.default_rng(seed).permutation(data.n)
    n_held_out = round(_HELD_OUT * data.n)
    held_out, fitted = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    with warnings.catch_warnings():
        # The fit on all rows says it again, with the numbers that count.
        warnings.simplefilter("ignore")
        trial = _fit(make(), data, fitted, "fit on two thirds", progress)
    forecast, y, weight = _take(data, held_out)
    before = evaluate(forecast, y, weight, seed=seed, progress=progress)
    after = evaluate(trial.transform(forecast), y, weight, seed=seed, progress=progress)
    final = _fit(make(), data, np.arange(data.n), "fit on all rows", progress)
    return Fitted(method, final, len(fitted), before, after)


def load_recalibration(path: Path) -> Recalibration:
    """A recalibration that was saved, and nothing else."""
    require_file(path)
    loaded = load(path)
    if not isinstance(loaded, Recalibration):
        raise UserError(
            f"{path} holds a {type(loaded).__name__}, not a recalibration of forecasts."
        )
    return loaded


def _fit(
    recalibration: Recalibration, data: Data, rows: Any, title: str, progress: Progress
) -> Recalibration:
    told = isinstance(recalibration, ThresholdRecalibration | ThresholdwiseRecalibration)
    if told:
        recalibration.progress = lambda done, total: progress(title, done, total)
    forecast, y, weight = _take(data, rows)
    recalibration.fit(forecast, y, sample_weight=weight)
    if told:
        recalibration.progress = None  # what is saved holds no functions
    return recalibration


def _take(data: Data, rows: Any) -> tuple[Any, Any, Any]:
    assert data.y is not None
    return data.forecast[rows], data.y[rows], None if data.weight is None else data.weight[rows]


def _layers(fitted: ThresholdRecalibration) -> str:
    if fitted.n_iter_ == 0:
        return "no layer"
    if fitted.n_iter_ == 1:
        average = fitted.history_[0].level == 1.0
        return "one map for all rows" if average else "1 layer"
    return f"{fitted.n_iter_} layers"
