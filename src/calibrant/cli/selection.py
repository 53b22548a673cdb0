"""The calibrators that the command line knows by name, what each is fed, and their comparison."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import Calibrator
from calibrant.cli.engines import EngineData
from calibrant.cli.errors import UserError
from calibrant.cli.predictions import Data, Scale
from calibrant.inputs import FloatArray, as_classes
from calibrant.selection import CalibratorComparison, compare_calibrators
from calibrant.selection.candidates import default_calibrators, fed, taken_scale

Fit = tuple[Calibrator | None, tuple[str, ...]]
"""A calibrator fitted on all rows (or none), and what fitting it warned of."""


def methods(n_classes: int, scale: Scale) -> dict[str, Calibrator]:
    """The calibrators for so many classes, by the name that the command line gives them."""
    return default_calibrators(n_classes, scale)


def food(calibrator: Calibrator, values: FloatArray, scale: Scale) -> FloatArray:
    """What a calibrator is fitted on and applied to: logits where it takes them and we have any."""
    if taken_scale(calibrator) == "logit" and scale != "logit":
        raise UserError(
            "the calibrator takes logits: pass --input logit with columns that hold them."
        )
    return fed(calibrator, values, scale)


def takes_any_scale(calibrator: Calibrator) -> bool:
    """Whether it is fitted on the predictions as they are, so that it fits no other scale."""
    return taken_scale(calibrator) == "any"


def fit_method(method: str, data: Data | EngineData, scale: Scale) -> Fit:
    """Fit one calibrator on all rows."""
    calibrator = methods(len(data.labels), scale)[method]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if isinstance(data, EngineData):
            with data.running():
                calibrator.fit_frame(data.frame, **data.names)
            calibrator.classes_ = np.array(data.labels)
        else:
            calibrator.fit(food(calibrator, data.values, scale), data.y, **data.options)
    return calibrator, tuple(dict.fromkeys(str(warning.message) for warning in caught))


def compare(
    data: Data,
    scale: Scale,
    *,
    cv: int,
    seed: int,
    metrics: Sequence[str] = ("log_loss",),
    n_resamples: int = 999,
    progress: Callable[[str, int, int], None] = lambda title, done, total: None,
) -> CalibratorComparison:
    """All calibrators that suit the data, and the uncalibrated predictions, on the same folds."""
    candidates = None
    if scale == "logit" and data.binary and data.values.ndim == 2:
        known = methods(2, scale)
        del known["platt"]  # it could not be applied to two columns
        candidates = list(known.items())
    return compare_calibrators(
        data.values,
        data.y,
        candidates,
        input=scale,
        cv=cv,
        metrics=metrics,
        n_resamples=n_resamples,
        random_state=seed,
        progress=lambda done, total: progress("compare", done, total),
        **data.options,
    )


def recommended(found: CalibratorComparison) -> Fit:
    """What the comparison recommends, if that is a calibrator."""
    name = found.recommended
    return found.calibrators.get(name), found.notes.get(name, ())


def log_loss(data: Data, prob: NDArray[Any]) -> float:
    """Mean negative log of the probability of what happened, clipped at the float epsilon."""
    from sklearn.metrics import log_loss as sklearn_log_loss

    columns = np.column_stack([1 - prob, prob]) if prob.ndim == 1 else prob
    codes, _ = as_classes(data.y, len(data.labels), labels=data.labels)
    return float(
        sklearn_log_loss(
            codes,
            columns.astype(np.float64) / columns.sum(axis=1, dtype=np.float64, keepdims=True),
            labels=range(len(data.labels)),
            sample_weight=data.weight,
        )
    )
