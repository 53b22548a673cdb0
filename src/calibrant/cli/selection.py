"""Which calibrator repairs these predictions best: out-of-fold log loss of all that fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import (
    BetaCalibration,
    CrossValidated,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.calibrators.base import Calibrator
from calibrant.cli.errors import UserError
from calibrant.cli.predictions import Data, Scale, to_probabilities
from calibrant.inputs import FloatArray, as_classes

UNCALIBRATED = "uncalibrated"


@dataclass(frozen=True)
class Candidate:
    """How one calibrator did: a log loss, or the reason why there is none."""

    method: str
    log_loss: float | None
    calibrator: Calibrator | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The method, how it did and what there is to say of it."""
        return {"method": self.method, "log_loss": self.log_loss, "notes": list(self.notes)}


def methods(n_classes: int, scale: Scale) -> dict[str, Calibrator]:
    """The calibrators for so many classes, by the name that the command line gives them."""
    if n_classes == 2:
        return {
            "platt": PlattScaling(),
            "temperature": TemperatureScaling(input=scale),
            "beta": BetaCalibration(),
            "isotonic": IsotonicCalibration(),
            "histogram": HistogramBinning(),
        }
    return {
        "temperature": TemperatureScaling(input=scale),
        "vector": VectorScaling(input=scale),
        "dirichlet": DirichletCalibration(),
        "ovr-platt": OneVsRest(PlattScaling()),
        "ovr-beta": OneVsRest(BetaCalibration()),
        "ovr-isotonic": OneVsRest(IsotonicCalibration()),
        "ovr-histogram": OneVsRest(HistogramBinning()),
    }


def food(calibrator: Calibrator, values: FloatArray, scale: Scale) -> FloatArray:
    """What a calibrator is fitted on and applied to: logits where it takes them and we have any."""
    if takes_any_scale(calibrator):
        return values
    if getattr(_innermost(calibrator), "input", None) == "logit":
        if scale != "logit":
            raise UserError(
                "the calibrator takes logits: pass --input logit with columns that hold them."
            )
        return values
    return to_probabilities(values, scale)


def takes_any_scale(calibrator: Calibrator) -> bool:
    """Whether it is fitted on the predictions as they are, so that it fits no other scale."""
    return isinstance(_innermost(calibrator), PlattScaling)


def _innermost(calibrator: Any) -> Any:
    while hasattr(calibrator, "base"):  # OneVsRest and CrossValidated take what their base takes
        calibrator = calibrator.base
    return calibrator


def fit_method(method: str, data: Data, scale: Scale) -> Candidate:
    """Fit one calibrator on all rows."""
    calibrator = methods(len(data.labels), scale)[method]
    values = food(calibrator, data.values, scale)
    fitted, notes = _noting(partial(calibrator.fit, values, data.y, **data.options))
    return Candidate(method, None, fitted, notes)


def compare(
    data: Data,
    scale: Scale,
    *,
    cv: int,
    seed: int,
    progress: Callable[[str, int, int], None] = lambda title, done, total: None,
) -> list[Candidate]:
    """Every calibrator and the uncalibrated predictions, the least log loss first.

    A calibrator that cannot be fitted comes last, with the reason.
    """
    candidates = [Candidate(UNCALIBRATED, log_loss(data, data.prob), None)]
    known = methods(len(data.labels), scale)
    for done, (method, calibrator) in enumerate(known.items()):
        progress(method, done, len(known))
        validated = CrossValidated(calibrator, cv=cv, random_state=seed)
        values = food(calibrator, data.values, scale)
        try:
            fitted, notes = _noting(partial(validated.fit, values, data.y, **data.options))
        except ValueError as error:
            candidates.append(Candidate(method, None, None, (str(error),)))
            continue
        loss = log_loss(data, fitted.oof_predictions_)
        candidates.append(Candidate(method, loss, fitted.calibrator_, notes))
    if all(candidate.log_loss is None for candidate in candidates[1:]):
        raise UserError(f"no calibrator can be compared by {cv} folds: {candidates[1].notes[0]}")
    return sorted(candidates, key=lambda c: np.inf if c.log_loss is None else c.log_loss)


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


def _noting(fit: Callable[[], Any]) -> tuple[Any, tuple[str, ...]]:
    """The result of a fit and what it warned about, once each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit()
    return fitted, tuple(dict.fromkeys(str(warning.message) for warning in caught))
