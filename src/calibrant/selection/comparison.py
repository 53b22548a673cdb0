"""What a comparison of calibrators found: scores, paired differences, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import frames
from calibrant.calibrators.base import Calibrator
from calibrant.selection import showing
from calibrant.selection.candidates import UNCALIBRATED


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric of one candidate minus that of another, on the same rows.

    Attributes
    ----------
    estimate : float
        Negative where the first one is better.
    low, high : float
        Ends of the interval.
    standard_error : float
        Of the estimate.
    """

    estimate: float
    low: float
    high: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class Score:
    """A metric of one candidate's out-of-fold predictions.

    Attributes
    ----------
    estimate : float
        Lower is better.
    low, high : float
        Ends of its interval.
    minus_uncalibrated : Difference
        To the predictions as they are.
    minus_best : Difference
        To the candidate with the lowest estimate of this metric; by log loss, of those that are
        not surely wrong.
    """

    estimate: float
    low: float
    high: float
    minus_uncalibrated: Difference
    minus_best: Difference


@dataclass(frozen=True, slots=True, repr=False)
class CalibratorComparison:
    """What `compare_calibrators` found.

    Attributes
    ----------
    scores : dict of dict of Score
        By candidate, the best by the first metric first, and by metric:
        ``scores["beta"]["log_loss"].minus_uncalibrated.high``.
    best : str
        The candidate with the lowest first metric; by log loss, of those that are not surely
        wrong, if there are any.
    recommended : str
        The simplest such candidate within one standard error of the best, and not worse than no
        calibration.
    surely_wrong : tuple of str
        Candidates that gave something that happened a probability of zero (2.2e-16 or less), so
        that their log loss is infinite; what is shown of it is clipped.
    better : tuple of str
        Candidates whose first metric is below that of the uncalibrated predictions by more than
        chance explains: the whole interval of the difference lies below zero.
    failures : dict of str
        Why a candidate was not fitted.
    notes : dict of tuple of str
        What fitting a candidate warned of.
    metrics : tuple of str
        The first one decides.
    classes : numpy.ndarray of shape (K,)
        The labels, in the order of the columns.
    n : int
        Rows that were judged by: those of positive weight.
    n_folds, n_resamples : int
    confidence_level : float
    calibrators : dict of calibrators
        Each candidate fitted on all rows; nothing for the uncalibrated predictions.
    predictions : dict of numpy.ndarray
        What each row was predicted by a calibrator that had not seen it: (n,) the probability of
        ``classes[1]``, or (n, K). Not in `to_dict`.
    """

    scores: Mapping[str, Mapping[str, Score]] = field(hash=False)
    best: str
    recommended: str
    surely_wrong: tuple[str, ...]
    failures: Mapping[str, str] = field(hash=False)
    notes: Mapping[str, tuple[str, ...]] = field(hash=False)
    metrics: tuple[str, ...]
    classes: NDArray[Any] = field(compare=False)
    n: int
    n_folds: int
    n_resamples: int
    confidence_level: float
    calibrators: Mapping[str, Calibrator] = field(compare=False)
    predictions: Mapping[str, NDArray[np.float64]] = field(compare=False)

    @property
    def better(self) -> tuple[str, ...]:
        metric = self.metrics[0]
        return tuple(
            name
            for name, scores in self.scores.items()
            if name != UNCALIBRATED and scores[metric].minus_uncalibrated.high < 0
        )

    @property
    def interpretation(self) -> str:
        """What the comparison means, in words."""
        return showing.interpretation(self)

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A native data frame with a row for each candidate and metric.

        Candidates that failed come last, with NaN for numbers and the reason in `failure`, which
        is empty for others.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            The library of the frame; by default the first of them that is imported already.
        """
        return showing.as_frame(self, backend)

    def to_dict(self) -> dict[str, Any]:
        """The attributes but calibrators and predictions, and `interpretation`, as plain values."""
        return {
            "metrics": list(self.metrics),
            "best": self.best,
            "recommended": self.recommended,
            "better": list(self.better),
            "surely_wrong": list(self.surely_wrong),
            "scores": {
                name: {metric: asdict(score) for metric, score in scores.items()}
                for name, scores in self.scores.items()
            },
            "failures": dict(self.failures),
            "notes": {name: list(notes) for name, notes in self.notes.items()},
            "classes": self.classes.tolist(),
            "n": self.n,
            "n_folds": self.n_folds,
            "n_resamples": self.n_resamples,
            "confidence_level": self.confidence_level,
            "interpretation": self.interpretation,
        }

    def __repr__(self) -> str:
        return showing.as_text(self)
