"""Threshold calibration error: calibration among the rows on which a decision maker acts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from calibrant import frames
from calibrant.forecasts.base import Floats
from calibrant.metrics.average import PITMethod, check_forecast, pit_values
from calibrant.metrics.grids import (
    as_counts,
    as_levels,
    as_min_group_size,
    as_thresholds,
    cdf_at,
)
from calibrant.metrics.group_errors import group_errors
from calibrant.metrics.largest_error import Largest, largest_over_levels
from calibrant.metrics.null_errors import null_quantiles
from calibrant.parallel import in_order

_MAX_LINES = 10


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdCalibrationError:
    """Threshold calibration errors over thresholds (rows) and levels (columns).

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        The thresholds y0.
    levels : ndarray of shape (L,)
        The levels alpha.
    value : ndarray of shape (m, L)
        The errors; nan where a group is smaller than `min_group_size`.
    lower, upper : ndarray of shape (m, L)
        Their two parts, of the rows with F(y0) <= alpha and of the others; 0 for no rows.
    n_lower, n_upper : ndarray of shape (m, L)
        Weights of the two groups (numbers of rows where no weights were given).
    null_quantile : ndarray of shape (m, L)
        What a calibrated continuous forecast stays below with probability `null_level`, for groups
        of these sizes: larger errors are signal, entry by entry.
    null_level : float
        That probability.
    largest : ndarray of shape (m,)
        The largest error of each threshold over *all* levels, not only those given; nan where no
        level leaves large enough groups.
    largest_level : ndarray of shape (m,)
        The smallest level at which it is reached.
    largest_lower, largest_upper, largest_n_lower : ndarray of shape (m,)
        Its two parts, and the weight of the lower group.
    min_group_size : float
        Smallest weight of a group that counts.
    """

    thresholds: Floats
    levels: Floats
    value: Floats
    lower: Floats
    upper: Floats
    n_lower: Floats
    n_upper: Floats
    null_quantile: Floats
    null_level: float
    largest: Floats
    largest_level: Floats
    largest_lower: Floats
    largest_upper: Floats
    largest_n_lower: Floats
    min_group_size: float

    @property
    def max(self) -> float:
        """The largest entry of `value`; nan if there is none."""
        return float(np.nanmax(self.value)) if self._any else float("nan")

    @property
    def mean(self) -> float:
        """The mean of the entries of `value` that are not nan."""
        return float(np.nanmean(self.value)) if self._any else float("nan")

    @property
    def share_above_null(self) -> float:
        """The share of the entries above their null quantile; 1 - `null_level` is expected."""
        known = ~np.isnan(self.value)
        return float((self.value > self.null_quantile)[known].mean()) if self._any else float("nan")

    @cached_property
    def _n_known(self) -> int:
        return int((~np.isnan(self.value)).sum())

    @property
    def _any(self) -> bool:
        return self._n_known > 0

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain numbers and lists; nan becomes None."""
        return {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame with a row for each threshold and level."""
        columns = {
            "threshold": np.repeat(self.thresholds, len(self.levels)),
            "level": np.tile(self.levels, len(self.thresholds)),
        }
        for name in ("value", "lower", "upper", "n_lower", "n_upper", "null_quantile"):
            columns[name] = getattr(self, name).ravel()
        return frames.from_columns(columns, backend)

    def __repr__(self) -> str:
        m, n_levels = self.value.shape
        heading = [
            f"ThresholdCalibrationError: {m} thresholds x {n_levels} levels",
            f"of these the largest {self.max:.4g}, mean {self.mean:.4g}; "
            f"{self.share_above_null:.0%} of {self._n_known}",
            f"are above their {self.null_level:.0%} quantile under calibration",
            f"over all levels, not only those {n_levels}:",
        ]
        shown = np.unique(np.linspace(0, m - 1, min(m, _MAX_LINES)).astype(int))
        columns = [
            ("threshold", [f"{v:.4g}" for v in self.thresholds[shown]]),
            ("largest", _cells(self.largest[shown], ".4f")),
            ("at level", _cells(self.largest_level[shown], ".3f")),
            ("n_lower", [f"{v:.6g}" for v in self.largest_n_lower[shown]]),
        ]
        lines = [*heading, *frames.aligned(columns)]
        if len(shown) < m:
            lines.append(f"... {len(shown)} of {m} thresholds")
        return "\n".join(lines)


def threshold_calibration_error(
    forecast: Any,
    y: Any,
    *,
    thresholds: Any = 50,
    levels: Any = 20,
    min_group_size: float | None = None,
    null_level: float = 0.95,
    method: PITMethod = "value",
    random_state: Any = None,
    sample_weight: Any = None,
) -> ThresholdCalibrationError:
    r"""Threshold calibration error at thresholds y0 and levels alpha.

    .. math::
        TCE(y_0, \alpha) = \int_0^1 |\hat P(F(Y) \le c \mid F(y_0) \le \alpha) - c| \, dc
                         + \int_0^1 |\hat P(F(Y) \le c \mid F(y_0) > \alpha) - c| \, dc

    It is zero for all of them exactly if every threshold decision on the forecast has the loss that
    the forecast predicts (Theorem 1 of the source). Both integrals are exact.

    Parameters
    ----------
    forecast : Forecast, or anything with a broadcasting ``cdf``
        n predictive distributions.
    y : array-like of shape (n,)
        Outcomes.
    thresholds : int or array-like of shape (m,), default=50
        Thresholds, or how many to place evenly between the 20 % and 80 % quantile of the outcomes.
    levels : int or array-like of shape (L,), default=20
        Levels, or how many to place evenly from 0.05 to 0.95.
    min_group_size : float, optional
        Smallest number of rows (or weight) of both groups; entries with a smaller one are nan. By
        default 200, or a tenth of the rows where that is less. At 0 all count, an empty group with
        an error of 0.
    null_level : float, default=0.95
        Probability with which a calibrated forecast stays below `null_quantile`.
    method, random_state
        PIT of an outcome at which the CDF jumps; see `pit`.
    sample_weight : array-like of shape (n,), optional
        Weights; an integer weight means the same as repeating the row. Null quantiles treat them
        as importance weights: they use Kish's effective size of all rows, in proportion.

    Returns
    -------
    ThresholdCalibrationError

    Raises
    ------
    ValueError
        If outcomes, thresholds, levels or weights are not as described.

    Notes
    -----
    Time O(m n L), and memory O(m n). The largest error over all levels is found by bounding it
    between levels already computed; that takes some hundred levels for each threshold instead
    of n.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., Ermon, S. (2021). Reliable decisions with threshold calibration.
    NeurIPS. Definition 4.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import threshold_calibration_error
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=2000)
    >>> y = mu + rng.normal(size=2000)
    >>> calibrated = threshold_calibration_error(Normal(mu, 1.0), y)
    >>> round(calibrated.max, 3), calibrated.share_above_null
    (0.042, 0.0)
    >>> round(threshold_calibration_error(Normal(0.5 * mu, 1.2), y).max, 3)
    0.231
    """
    held, outcomes = check_forecast(forecast, y)
    weight = as_counts(sample_weight, len(outcomes))
    level = _check_null_level(null_level)
    cutoffs, at = as_levels(levels), as_thresholds(thresholds, outcomes, weight)
    pits = pit_values(held, outcomes, method, random_state)
    order = np.argsort(pits, kind="stable")
    weights = np.ones(len(pits)) if weight is None else weight[order]
    total = float(weights.sum())
    smallest = as_min_group_size(min_group_size, total)

    ordered = pits[order]
    keys = cdf_at(held, at)
    for row in keys:
        row[:] = row[order]
    errors = group_errors(ordered, weights, keys, cutoffs)
    n_upper = total - errors.below
    known = (errors.below >= smallest) & (n_upper >= smallest)
    found = in_order(lambda key: largest_over_levels(ordered, weights, key, smallest), list(keys))
    largest = Largest(*(np.array(column) for column in zip(*found, strict=True)))
    per_weight = total / float((weights**2).sum())
    return ThresholdCalibrationError(
        thresholds=at,
        levels=cutoffs,
        value=np.where(known, errors.lower + errors.upper, np.nan),
        lower=errors.lower,
        upper=errors.upper,
        n_lower=errors.below,
        n_upper=n_upper,
        null_quantile=null_quantiles(errors.below * per_weight, n_upper * per_weight, level),
        null_level=level,
        largest=largest.value,
        largest_level=largest.level,
        largest_lower=largest.lower,
        largest_upper=largest.upper,
        largest_n_lower=largest.below,
        min_group_size=smallest,
    )


def _check_null_level(null_level: Any) -> float:
    number = isinstance(null_level, Real) and not isinstance(null_level, bool)
    if not number or not 0.0 < null_level < 1.0:
        raise ValueError(f"null_level must be a number between 0 and 1, got {null_level!r}.")
    return float(null_level)


def _cells(values: Floats, form: str) -> list[str]:
    return ["-" if np.isnan(value) else format(value, form) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value]
    number = float(value)
    return None if np.isnan(number) else number
