"""Many decision makers at once: sums by bucket of F stand for all costs and rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.decisions import replicates, sums
from calibrant.decisions.evaluating import Threshold
from calibrant.decisions.losses import Bools, Floats, ThresholdLoss
from calibrant.forecasts.base import Forecast

if TYPE_CHECKING:
    from calibrant.inference.resamples import Resamples

_MAX_ENTRIES = 1 << 23  # of rows times thresholds held at a time


@dataclass(frozen=True)
class Makers:
    """Decision makers at one threshold, with costs of errors only, and the rules they may follow.

    Levels of Bayes rules and of the others are cut points of one ascending grid.
    """

    false_positive: Floats
    false_negative: Floats
    cuts: Floats
    own: NDArray[np.intp]
    rules: NDArray[np.intp]

    @classmethod
    def of(cls, ratios: Floats, levels: Floats, total: float) -> Makers:
        losses = [ThresholdLoss.from_cost_ratio(0.0, ratio, total=total) for ratio in ratios]
        own = np.array([loss.level for loss in losses])
        cuts = np.unique(np.concatenate([own, levels]))
        return cls(
            false_positive=np.array([loss.above[1] for loss in losses]),
            false_negative=np.array([loss.below[0] for loss in losses]),
            cuts=cuts,
            own=np.searchsorted(cuts, own),
            rules=np.searchsorted(cuts, levels),
        )

    def losses(self, bucket: NDArray[np.intp], weight: Floats, below: Floats) -> Floats:
        """Sums over rows of the Bayes rules' losses, given the probabilities of the lower side."""
        below = weight * below
        acting = sums.over_acting(bucket, len(self.cuts), weight)[self.own]
        right = sums.over_acting(bucket, len(self.cuts), below)[self.own]
        missed = below.sum() - right
        return np.asarray(self.false_positive * (acting - right) + self.false_negative * missed)

    def gaps(self, bucket: NDArray[np.intp], residual: Floats) -> Floats:
        """Absolute sums of differences of predicted and realised loss, averaged over the rules."""
        acting = sums.over_acting(bucket, len(self.cuts), residual)[self.rules]
        idle = residual.sum() - acting
        differences = np.outer(self.false_positive, acting) - np.outer(self.false_negative, idle)
        return np.asarray(np.abs(differences).mean(axis=1))

    def differences(self, residuals: Floats) -> Floats:
        """Sums of predicted minus realised losses of the Bayes rules, (R, thresholds, makers).

        From sums of residuals (thresholds, buckets, R).
        """
        from_above = residuals[:, ::-1].cumsum(axis=1)[:, ::-1].transpose(2, 0, 1)
        acting = from_above[..., 1:][..., self.own]
        idle = from_above[..., :1] - acting
        return np.asarray(self.false_positive * acting - self.false_negative * idle)


@dataclass(frozen=True)
class Sample:
    """Forecasts with outcomes; only rows in `there`, of positive weight, count."""

    forecast: Forecast
    y: Floats
    weight: Floats
    there: Bools
    strict: bool

    @classmethod
    def of(cls, forecast: Forecast, y: Floats, weight: Floats | None, *, strict: bool) -> Sample:
        if weight is None:
            weight = np.ones(len(y))
        there = weight > 0
        return cls(forecast, y[there], weight[there], there, strict)

    def at(self, value: float) -> tuple[Floats, Floats, Floats]:
        """F(threshold), the probability of the lower side, and 1 where the outcome is there."""
        threshold = Threshold(self.forecast, value)
        prob = threshold.prob_below(strict=self.strict)
        below = self.y < value if self.strict else self.y <= value
        return threshold.cdf[self.there], prob[self.there], below.astype(np.float64)


class Losses(NamedTuple):
    """Mean losses of the makers at all thresholds, (thresholds, makers) each."""

    predicted: Floats
    realised: Floats
    gap: Floats
    drawn: Floats | None  # predicted minus realised of resamples, (n_resamples, ...)


def evaluate(
    makers: Makers, sample: Sample, thresholds: Floats, resamples: Resamples | None
) -> Losses:
    """What the makers lose; residuals of some thresholds are held at a time for the resamples."""
    predicted, realised, gap = np.empty((3, len(thresholds), len(makers.own)))
    drawn, held = [], []
    for k, value in enumerate(thresholds):
        cdf, prob, below = sample.at(value)
        bucket = sums.buckets(cdf, makers.cuts)
        residual = sample.weight * (below - prob)
        predicted[k] = makers.losses(bucket, sample.weight, prob)
        realised[k] = makers.losses(bucket, sample.weight, below)
        gap[k] = makers.gaps(bucket, residual)
        if resamples is not None:
            held.append((bucket.astype(np.uint32), residual))
            if len(held) == thresholds_at_a_time(len(residual)) or k == len(thresholds) - 1:
                drawn.append(_differences(makers, held, resamples))
                held.clear()
    total = sample.weight.sum()
    means = predicted / total, realised / total, gap / total
    if resamples is None:
        return Losses(*means, None)
    totals = replicates.column_sums([sample.weight], resamples)
    return Losses(*means, np.concatenate(drawn, axis=1) / totals[:, :, np.newaxis])


def thresholds_at_a_time(n: int) -> int:
    """How many thresholds' residuals of n rows are held."""
    return max(1, _MAX_ENTRIES // n)


def _differences(
    makers: Makers, held: list[tuple[NDArray[np.uint32], Floats]], resamples: Resamples
) -> Floats:
    bucket, residual = map(np.array, zip(*held, strict=True))
    return replicates.bucket_sums(
        bucket, residual, len(makers.cuts) + 1, makers.differences, resamples
    )
