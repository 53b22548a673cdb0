"""The data of a comparison, and each candidate's cross-validated fit to them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import inputs
from calibrant.calibrators import CrossValidated
from calibrant.calibrators.base import Calibrator
from calibrant.containers import to_numpy
from calibrant.entries import is_whole
from calibrant.parallel import Progress
from calibrant.selection.candidates import Input, fed, to_probabilities

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Data:
    """The predictions as they were given and as probabilities, and what happened."""

    rows: NDArray[Any]
    uncalibrated: Floats
    codes: NDArray[np.intp]
    classes: NDArray[Any]
    weight: Floats | None

    @property
    def y(self) -> NDArray[Any]:
        return self.classes[self.codes]

    @property
    def judged(self) -> NDArray[np.bool_]:
        """The rows of positive weight."""
        return np.ones(len(self.codes), dtype=bool) if self.weight is None else self.weight > 0


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate that could be fitted, and what that warned of."""

    validated: CrossValidated
    notes: tuple[str, ...]


class Steps:
    """Finished pieces of the work, told to whom it may concern."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def finish_one(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def read_data(X: Any, y: Any, input: Input, labels: Any, sample_weight: Any) -> Data:
    """Check all that was given."""
    # The dtype as it came decides how exactly rows must sum to one, in each fold as in all.
    rows = to_numpy(X, "X")
    values = inputs.as_scores(rows, "X") if input == "logit" else inputs.as_probabilities(rows, "X")
    columns = 2 if values.ndim == 1 else values.shape[1]
    names = inputs.column_names(X)
    codes, classes = inputs.as_classes(y, columns, labels=labels, names=names, name="y")
    inputs.check_lengths(X=values, y=codes)
    weight = inputs.as_weights(sample_weight, len(codes))
    uncalibrated = of_event(to_probabilities(values, input))
    if uncalibrated.ndim == 2:
        # Rows of coarse dtypes sum to one up to the rounding of these; metrics are in doubles.
        uncalibrated /= uncalibrated.sum(axis=1, keepdims=True)
    return Data(rows, uncalibrated, codes, classes, weight)


def of_event(prob: NDArray[Any]) -> Floats:
    """Of two classes the probability of the second, else (n, K)."""
    if prob.ndim == 2 and prob.shape[1] == 2:
        prob = prob[:, 1]
    return np.array(prob, dtype=np.float64, order="C")


def fit_all(
    candidates: Mapping[str, Calibrator],
    data: Data,
    input: Input,
    cv: Any,
    seed: int,
    steps: Steps,
) -> tuple[dict[str, Trial], dict[str, str]]:
    """The candidates that could be fitted, all on the same folds, and why others could not."""
    folds = _repeatable(cv, data)
    fitted, failures = {}, {}
    for name, calibrator in candidates.items():
        validated = CrossValidated(calibrator, cv=folds, random_state=seed)
        try:
            fitted[name] = _fit(validated, fed(calibrator, data.rows, input), data)
        except ValueError as error:
            failures[name] = str(error)
        steps.finish_one()
    return fitted, failures


def _repeatable(cv: Any, data: Data) -> Any:
    """The folds in a form that gives the same ones to each candidate."""
    if isinstance(cv, str | bytes | type) or is_whole(cv):
        return cv
    if hasattr(cv, "split"):
        return list(cv.split(data.rows, data.y))
    return list(cv) if isinstance(cv, Iterable) else cv


def _fit(validated: CrossValidated, rows: NDArray[Any], data: Data) -> Trial:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        validated.fit(rows, data.y, sample_weight=data.weight, labels=data.classes)
    return Trial(validated, tuple(dict.fromkeys(str(warning.message) for warning in caught)))
