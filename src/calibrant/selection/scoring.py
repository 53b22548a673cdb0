"""Metrics of all candidates with paired differences, and which candidate they recommend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from calibrant.percentiles import percentile_interval
from calibrant.selection.candidates import UNCALIBRATED
from calibrant.selection.comparison import Difference, Score
from calibrant.selection.resampling import Floats, Outcomes, is_surely_wrong, on_resamples
from calibrant.selection.trials import Data, Steps

Scores = dict[str, dict[str, Score]]


class Sampling(NamedTuple):
    """How intervals are made."""

    n_resamples: int
    confidence_level: float
    seed: int


def score_all(
    predictions: Mapping[str, Floats],
    data: Data,
    metrics: tuple[str, ...],
    sampling: Sampling,
    steps: Steps,
) -> tuple[Scores, tuple[str, ...]]:
    """By candidate and metric, of the rows of positive weight; and who is surely wrong there."""
    judged = data.judged
    weight = None if data.weight is None else data.weight[judged]
    outcomes = Outcomes(data.codes[judged], len(data.classes), weight)
    candidates = [prob[judged] for prob in predictions.values()]
    wrong = np.array([is_surely_wrong(prob, outcomes) for prob in candidates])
    base = list(predictions).index(UNCALIBRATED)
    level = sampling.confidence_level
    scores: Scores = {name: {} for name in predictions}
    for metric in metrics:
        found, values = on_resamples(
            metric, candidates, outcomes, sampling.n_resamples, sampling.seed
        )
        finite = ~wrong if metric == "log_loss" and not wrong.all() else np.isfinite(found)
        best = int(np.where(finite, found, np.inf).argmin())
        for c, name in enumerate(predictions):
            low, high = percentile_interval(found[c], values[c], level)
            scores[name][metric] = Score(
                float(found[c]),
                float(low),
                float(high),
                _difference(found[c] - found[base], values[c] - values[base], level),
                _difference(found[c] - found[best], values[c] - values[best], level),
            )
        steps.finish_one()
    return scores, tuple(
        name for name, is_wrong in zip(predictions, wrong, strict=True) if is_wrong
    )


def ranked(scores: Scores, metric: str, wrong: tuple[str, ...]) -> list[str]:
    """The best first; an infinite log loss, which clipping hides, comes last."""
    last = wrong if metric == "log_loss" else ()
    return sorted(scores, key=lambda name: (name in last, scores[name][metric].estimate))


def recommended(scores: Scores, metric: str, wrong: tuple[str, ...]) -> str:
    """The first candidate within one standard error of the best; they come simplest first.

    None that is worse than the predictions as they are, if its own noise is all that excuses it.
    """
    out = wrong if metric == "log_loss" and len(wrong) < len(scores) else ()
    most = np.inf if UNCALIBRATED in out else scores[UNCALIBRATED][metric].estimate
    return next(
        name
        for name, score in scores.items()
        if name not in out
        and _is_near_best(score[metric].minus_best)
        and score[metric].estimate <= most
    )


def _is_near_best(difference: Difference) -> bool:
    return difference.estimate <= difference.standard_error


def _difference(estimate: float, values: Floats, level: float) -> Difference:
    low, high = percentile_interval(estimate, values, level)
    return Difference(float(estimate), float(low), float(high), float(values.std()))
