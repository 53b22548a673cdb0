"""The calibrators that the command line knows by name, what each is fed, and their comparison."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from calibrant.calibrators.base import Calibrator
from calibrant.cli.engines import EngineData
from calibrant.cli.errors import UserError
from calibrant.cli.predictions import Data, Scale
from calibrant.inputs import FloatArray
from calibrant.selection import CalibratorComparison, compare_calibrators
from calibrant.selection.candidates import default_calibrators, fed, taken_scale

Fit = tuple[Calibrator | None, tuple[str, ...]]
"""A calibrator fitted on all rows (or none), and what fitting it warned of."""


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
    calibrator = default_calibrators(len(data.labels), scale)[method]
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
        known = default_calibrators(2, scale)
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
