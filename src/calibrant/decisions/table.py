"""The table of many decision makers: what each was promised, what each lost, and the gap."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant import frames
from calibrant.arguments import as_generator, check_confidence_level, check_n_resamples
from calibrant.decisions import evaluating, makers
from calibrant.decisions.expected import required
from calibrant.decisions.losses import Floats, as_flag, as_total
from calibrant.parallel import Progress
from calibrant.percentiles import percentile_interval

if TYPE_CHECKING:
    from calibrant.inference.resamples import Resamples

_MAX_LINES = 20
_MEASURES = ("predicted_loss", "decision_loss", "difference", "low", "high", "reliability_gap")


@dataclass(frozen=True, eq=False, repr=False)
class DecisionTable:
    """What T x C decision makers lose, one for each threshold and cost ratio.

    Made by `decision_table`. The matrices have a row for each threshold and a column for each
    cost ratio.

    Attributes
    ----------
    thresholds : numpy.ndarray of shape (T,)
        In the unit of the outcome.
    cost_ratios : numpy.ndarray of shape (C,)
        Cost of a false positive as a share of the total.
    levels : numpy.ndarray of shape (L,)
        Levels of the rules that the reliability gap is averaged over.
    total : float
        Cost of a false positive and a false negative together.
    strict : bool
        Whether an outcome equal to the threshold is above it.
    n : int
        Rows; those of weight zero are left out.
    confidence_level : float
        Of the intervals.
    n_resamples : int
        Resamples that the intervals are read from; 0 where there are none.
    predicted_loss, decision_loss : numpy.ndarray of shape (T, C)
        Mean loss of the Bayes rule, predicted by the forecast and realised.
    difference : numpy.ndarray of shape (T, C)
        Predicted minus realised: below zero where the forecast promised too much.
    low, high : numpy.ndarray of shape (T, C) or None
        Bootstrap interval of the difference.
    reliability_gap : numpy.ndarray of shape (T, C)
        Absolute difference of predicted and realised loss, averaged over the rules.
    """

    thresholds: Floats
    cost_ratios: Floats
    levels: Floats
    total: float
    strict: bool
    n: int
    confidence_level: float
    n_resamples: int
    predicted_loss: Floats
    decision_loss: Floats
    reliability_gap: Floats
    low: Floats | None
    high: Floats | None
    # Differences of resamples, averaged over the ratios (B, T) and over the thresholds (B, C).
    _drawn: tuple[Floats, Floats] | None = field(default=None)

    @property
    def difference(self) -> Floats:
        return self.predicted_loss - self.decision_loss

    def by_threshold(self) -> dict[str, Floats]:
        """Means over the makers with the same threshold: "threshold" and each measure, (T,)."""
        drawn = None if self._drawn is None else self._drawn[0]
        return {"threshold": self.thresholds, **self._means(1, drawn)}

    def by_cost_ratio(self) -> dict[str, Floats]:
        """Means over the makers with the same cost ratio: "cost_ratio" and measures, (C,)."""
        drawn = None if self._drawn is None else self._drawn[1]
        return {"cost_ratio": self.cost_ratios, **self._means(0, drawn)}

    def overall(self) -> dict[str, float]:
        """Means over all makers, by name of the measure."""
        drawn = None if self._drawn is None else self._drawn[0].mean(axis=1)
        return {name: float(value) for name, value in self._means((0, 1), drawn).items()}

    def _means(self, axis: int | tuple[int, int], drawn: Floats | None) -> dict[str, Floats]:
        """Each measure averaged; the interval is that of the averaged difference."""
        means = {
            name: np.asarray(getattr(self, name).mean(axis=axis))
            for name in _MEASURES
            if name not in ("low", "high")
        }
        if drawn is not None:
            means["low"], means["high"] = percentile_interval(
                means["difference"], drawn, self.confidence_level
            )
        return {name: means[name] for name in _MEASURES if name in means}

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """The table as a data frame with a row for each decision maker.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            Whose data frame. Default: the first of them that is imported already, else the first
            that is installed.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyarrow.Table
            The columns threshold, cost_ratio, predicted_loss, decision_loss, difference, low and
            high (where there are intervals), and reliability_gap.
        """
        threshold, ratio = np.meshgrid(self.thresholds, self.cost_ratios, indexing="ij")
        columns = {"threshold": threshold.ravel(), "cost_ratio": ratio.ravel()}
        for name in _MEASURES:
            if (values := getattr(self, name)) is not None:
                columns[name] = values.ravel()
        return frames.from_columns(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """The attributes as plain values."""
        names = ("thresholds", "cost_ratios", "levels", "total", "strict", "n",
                 "confidence_level", "n_resamples", *_MEASURES)  # fmt: skip
        values = ((name, getattr(self, name)) for name in names)
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in values
        }

    def __repr__(self) -> str:
        overall = self.overall()
        heading = (
            f"DecisionTable: {len(self.thresholds)} thresholds x {len(self.cost_ratios)} cost "
            f"ratios, {self.n} rows, total cost {self.total:g}\n"
            f"On average predicted {overall['predicted_loss']:.4g}, realised "
            f"{overall['decision_loss']:.4g}, reliability gap {overall['reliability_gap']:.4g}"
        )
        if self.low is not None and self.high is not None:
            off = int(((self.low > 0) | (self.high < 0)).sum())
            heading += (
                f"\nIntervals ({100 * self.confidence_level:.4g} %) of the difference exclude "
                f"zero for {off} of {self.low.size} decision makers"
            )
        means = self.by_threshold()
        cells = [
            (name, [format(value, ".4g") for value in values[:_MAX_LINES]])
            for name, values in means.items()
        ]
        lines = [heading, *frames.aligned(cells)]
        if len(self.thresholds) > _MAX_LINES:
            lines.append(f"... and {len(self.thresholds) - _MAX_LINES} more thresholds")
        return "\n".join(lines)


def decision_table(
    forecast: Any,
    y: Any,
    *,
    thresholds: Any = 50,
    cost_ratios: Any = 50,
    levels: Any = 50,
    total: float = 10.0,
    strict: bool = True,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    random_state: int | np.random.Generator | None = None,
    sample_weight: Any = None,
    progress: Progress | None = None,
) -> DecisionTable:
    r"""Losses and reliability gaps of decision makers over a grid of thresholds and cost ratios.

    The maker with threshold :math:`y_0` and cost ratio c loses

    .. math:: 10 c 1[a = 1, y \ge y_0] + 10 (1 - c) 1[a = 0, y < y_0]

    and takes action 1 where :math:`F(y_0) \ge c`, the Bayes rule. The reliability gap is the mean
    over rules :math:`F(y_0) \ge \alpha` of the absolute difference of predicted and realised loss.

    Parameters
    ----------
    forecast : forecast of n rows
    y : array-like of shape (n,)
        Outcomes.
    thresholds : int or array-like of shape (T,), default=50
        A number means so many from the smallest to the largest outcome.
    cost_ratios, levels : int or array-like, default=50
        In [0, 1]; a number means so many from 0.05 to 0.95.
    total : float, default=10.0
        In place of 10 above.
    strict : bool, default=True
        False: sides y > threshold and y <= threshold, as is the default of `ThresholdLoss`.
    confidence_level : float, default=0.95
        Of the intervals of predicted minus realised loss.
    n_resamples : int, default=999
        Bootstrap resamples of rows; 0 for no intervals.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the draws. The same seed gives the same result for any number of processors.
    sample_weight : array-like of shape (n,), optional
        How much each row counts. Resamples draw rows with equal probability, and each takes its
        weight along.
    progress : callable, optional
        Called while resamples are drawn as ``progress(done, steps)``, from the caller's thread.

    Returns
    -------
    DecisionTable

    Raises
    ------
    ValueError
        If an argument is not as described, or outcomes and forecasts differ in number.

    Notes
    -----
    Percentile intervals, widened where necessary to hold the estimate; each is for its own maker,
    without a correction for looking at many.

    With T thresholds, C ratios, L levels and B resamples: time O(T (n log(C + L) + C L)), and
    O(T (n B + (C + L) B)) for intervals; memory O(n) and, for intervals, O(T C B) and the
    larger of 12 n bytes and 200 MB. 50 x 50 makers on 50,000 rows take about a second with
    intervals and a tenth of that without, on two processors.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., & Ermon, S. (2021). Reliable decisions with threshold
    calibration. NeurIPS 34. Section 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.decisions import decision_table
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=500)
    >>> y = rng.normal(mu, 1.0)
    >>> decision_table(Normal(mu, 0.5), y, thresholds=[-1.0, 0.0, 1.0], random_state=0)
    DecisionTable: 3 thresholds x 50 cost ratios, 500 rows, total cost 10
    On average predicted 0.4306, realised 0.7358, reliability gap 0.3077
    Intervals (95 %) of the difference exclude zero for 149 of 150 decision makers
    threshold  predicted_loss  decision_loss  difference      low     high  reliability_gap
           -1          0.3936         0.6673     -0.2737  -0.3824  -0.1698            0.281
            0           0.535         0.8941     -0.3592  -0.4777  -0.2328           0.3592
            1          0.3632          0.646     -0.2827  -0.3972  -0.1816           0.2827
    """
    known, outcomes, weight = evaluating.as_rows(forecast, required(y), sample_weight)
    assert outcomes is not None
    sample = makers.Sample.of(known, outcomes, weight, strict=as_flag(strict, "strict"))
    span = float(sample.y.min()), float(sample.y.max())
    thresholds = evaluating.as_grid(thresholds, "thresholds", span)
    cost_ratios = evaluating.as_levels(cost_ratios, "cost_ratios")
    levels = evaluating.as_levels(levels)
    total = as_total(total)
    level = check_confidence_level(confidence_level)
    rng = as_generator(random_state)
    if n_resamples != 0 or isinstance(n_resamples, bool):
        n_resamples = check_n_resamples(n_resamples)
    resamples = None
    if n_resamples:
        resamples = _resamples(len(sample.y), n_resamples, rng, progress, len(thresholds))
    losses = makers.evaluate(
        makers.Makers.of(cost_ratios, levels, total), sample, thresholds, resamples
    )
    low = high = means = None
    if losses.drawn is not None:
        difference = losses.predicted - losses.realised
        low, high = percentile_interval(difference, losses.drawn, level)
        means = losses.drawn.mean(axis=2), losses.drawn.mean(axis=1)
    return DecisionTable(
        thresholds=thresholds,
        cost_ratios=cost_ratios,
        levels=levels,
        total=total,
        strict=sample.strict,
        n=len(sample.y),
        confidence_level=level,
        n_resamples=n_resamples,
        predicted_loss=losses.predicted,
        decision_loss=losses.realised,
        reliability_gap=losses.gap,
        low=low,
        high=high,
        _drawn=means,
    )


def _resamples(
    n: int, n_resamples: int, rng: np.random.Generator, progress: Progress | None, n_thresholds: int
) -> Resamples:
    from calibrant.inference.resamples import Resamples
    from calibrant.kernels.resampling import N_ABREAST

    if progress is None:
        return Resamples(n, n_resamples, rng, None)
    # Passes over all resamples: one for each run of thresholds, and one for the weights.
    n_passes = 1 + -(-n_thresholds // makers.thresholds_at_a_time(n))
    n_steps = n_passes * -(-n_resamples // N_ABREAST)
    steps = itertools.count(1)
    return Resamples(n, n_resamples, rng, lambda *_: progress(next(steps), n_steps))
