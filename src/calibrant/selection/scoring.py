"""Metrics of all candidates with paired differences, and which candidate they recommend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from calibrant.percentiles import percentile_interval
from calibrant.selection.candidates import UNCALIBRATED
from calibrant.selection.comparison import Difference, Score
from calibrant.selection.resampling import Floats, Outcomes, on_resamples
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
) -> Scores:
    """By candidate and metric, of the rows of positive weight."""
    judged = data.judged
    weight = None if data.weight is None else data.weight[judged]
    outcomes = Outcomes(data.codes[judged], len(data.classes), weight)
    candidates = [prob[judged] for prob in predictions.values()]
    base = list(predictions).index(UNCALIBRATED)
    level = sampling.confidence_level
    scores: Scores = {name: {} for name in predictions}
    for metric in metrics:
        found, values = on_resamples(
            metric, candidates, outcomes, sampling.n_resamples, sampling.seed
        )
        best = int(found.argmin())
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
    return scores


def recommended(scores: Scores, metric: str) -> str:
    """The first candidate within one standard error of the best; they come simplest first."""
    return next(name for name, score in scores.items() if _is_near_best(score[metric].minus_best))


def _is_near_best(difference: Difference) -> bool:
    return difference.estimate <= difference.standard_error


def _difference(estimate: float, values: Floats, level: float) -> Difference:
    low, high = percentile_interval(estimate, values, level)
    return Difference(float(estimate), float(low), float(high), float(values.std()))
