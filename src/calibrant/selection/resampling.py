"""Metrics of several predictions of the same rows, on the same bootstrap resamples of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_generator
from calibrant.inference import confidence_interval
from calibrant.inference.resamples import Resamples

Floats = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What happened in the rows of positive weight: column codes, and their weights."""

    codes: NDArray[np.intp]
    n_classes: int
    weight: Floats | None


def log_losses(prob: Floats, codes: NDArray[np.intp]) -> Floats:
    """Minus the log of the probability of what happened, clipped at the float epsilon."""
    losses: Floats = -np.log(np.clip(_of_what_happened(prob, codes), _EPS, 1.0 - _EPS))
    return losses


def is_surely_wrong(prob: Floats, outcomes: Outcomes) -> bool:
    """Whether something happened that had a probability of zero: the log loss is infinite."""
    return bool((_of_what_happened(prob, outcomes.codes) <= _EPS).any())


def brier_losses(prob: Floats, codes: NDArray[np.intp]) -> Floats:
    """Squared error of the event; of more than two classes, summed over them."""
    if prob.ndim == 1:
        squared: Floats = (prob - codes) ** 2
        return squared
    errors = prob.copy()
    errors[np.arange(len(codes)), codes] -= 1.0
    sums: Floats = np.einsum("ik,ik->i", errors, errors)
    return sums


def _of_what_happened(prob: Floats, codes: NDArray[np.intp]) -> Floats:
    if prob.ndim == 1:
        return np.where(codes == 1, prob, 1.0 - prob)
    return prob[np.arange(len(codes)), codes]


ROW_LOSSES: dict[str, Callable[[Floats, NDArray[np.intp]], Floats]] = {
    "log_loss": log_losses,
    "brier": brier_losses,
}

METRICS = (*ROW_LOSSES, "ece", "mce", "ace", "mmce", "skce")


def on_resamples(
    metric: str, predictions: Sequence[Floats], outcomes: Outcomes, n_resamples: int, seed: int
) -> tuple[Floats, Floats]:
    """The metric of C predictions of the rows (C,), and of the same resamples of them, (C, R)."""
    if metric in ROW_LOSSES:
        losses = [ROW_LOSSES[metric](prob, outcomes.codes) for prob in predictions]
        return _means(np.column_stack(losses), outcomes.weight, n_resamples, seed)
    # Intervals of the same seed are of the same resamples.
    found = [
        confidence_interval(
            outcomes.codes,
            prob,
            metric=metric,
            n_resamples=n_resamples,
            random_state=seed,
            labels=range(outcomes.n_classes),
            sample_weight=outcomes.weight,
        )
        for prob in predictions
    ]
    estimates = np.array([one.estimate for one in found])
    return estimates, np.stack([one.bootstrap_distribution for one in found])


def _means(
    losses: Floats, weight: Floats | None, n_resamples: int, seed: int
) -> tuple[Floats, Floats]:
    """Weighted means of columns of row losses (n, C): of the rows, and of resamples of them."""
    from calibrant.kernels.resampling import N_ABREAST

    weight = np.ones(len(losses)) if weight is None else weight
    table = np.column_stack([losses * weight[:, np.newaxis], weight])
    resamples = Resamples(len(table), n_resamples, as_generator(seed), None)

    def statistic(replicates: slice) -> Floats:
        sums: Any = 0.0
        for rows, multiplicities in resamples.blocks(replicates):
            sums = sums + multiplicities.T.astype(np.float64) @ table[rows]
        means: Floats = sums[:, :-1] / sums[:, -1:]
        return means

    return np.average(losses, axis=0, weights=weight), resamples.evaluate(statistic, N_ABREAST).T
