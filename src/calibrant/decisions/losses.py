"""What the two actions cost on either side of a threshold of the outcome."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant import saving

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@saving.saveable
@dataclass(frozen=True)
class ThresholdLoss:
    r"""A loss of two actions, 0 and 1, that depends on which side of a threshold the outcome is.

    .. math:: \ell(y, a) = b_a 1[y \le y_0] + a_a 1[y > y_0]

    Parameters
    ----------
    threshold : float
        :math:`y_0`, in the unit of the outcome.
    below : tuple of float
        Costs of action 0 and of action 1 when the outcome is at or below the threshold.
    above : tuple of float
        Costs of action 0 and of action 1 when the outcome is above the threshold.
    strict : bool, default=False
        Count an outcome equal to the threshold as above: the sides are then y < threshold and
        y >= threshold. The probability of "below" is then P(Y < threshold) for predicted costs;
        rules compare F(threshold) all the same. For continuous forecasts only outcomes equal to the
        threshold make a difference.

    Attributes
    ----------
    level : float or None
        The :math:`\alpha` that F(threshold) is compared with by the Bayes rule, not clipped to
        [0, 1]; None where the costs leave nothing to compare. With A and B the extra cost of
        action 1 below and above, it is B / (B - A).
    direction : {"ge", "le", "constant", "indifferent"}
        Whether the Bayes rule takes action 1 where F(threshold) >= level (A < B) or where
        F(threshold) <= level (A > B), whether one action is the dearer by the same amount on both
        sides (A = B), or both cost the same (A = B = 0).
    constant_action : int or None
        The Bayes action where no probability in [0, 1] changes it, else None.

    Raises
    ------
    ValueError
        If a number is not finite, or a side does not have two costs.

    Notes
    -----
    Ties act: action 1 is taken where both actions have the same expected cost. Costs are taken as
    the decimals they print as, and the level is rounded once, so that costs of 3 and 7 make a tie
    of F = 6 / 20.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., & Ermon, S. (2021). Reliable decisions with threshold
    calibration. NeurIPS 34. Section 2.3; 5.3 for `strict`.

    Examples
    --------
    >>> from calibrant.decisions import ThresholdLoss
    >>> loss = ThresholdLoss(5.0, below=(7.0, 0.0), above=(0.0, 3.0))
    >>> loss.level, loss.direction
    (0.3, 'ge')
    """

    threshold: float
    below: tuple[float, float]
    above: tuple[float, float]
    strict: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", as_number(self.threshold, "threshold"))
        object.__setattr__(self, "below", _as_costs(self.below, "below"))
        object.__setattr__(self, "above", _as_costs(self.above, "above"))
        object.__setattr__(self, "strict", as_flag(self.strict, "strict"))

    @classmethod
    def from_errors(
        cls, threshold: float, *, false_positive: float, false_negative: float, strict: bool = False
    ) -> Self:
        """Costs of errors only, where action 1 is the bet that the outcome will be below.

        Parameters
        ----------
        threshold : float
        false_positive : float
            Cost of action 1 when the outcome is above.
        false_negative : float
            Cost of action 0 when the outcome is below.
        strict : bool, default=False

        Returns
        -------
        ThresholdLoss

        Examples
        --------
        >>> from calibrant.decisions import ThresholdLoss
        >>> ThresholdLoss.from_errors(5.0, false_positive=3.0, false_negative=7.0)
        ThresholdLoss(threshold=5.0, below=(7.0, 0.0), above=(0.0, 3.0), strict=False)
        """
        false_positive = as_number(false_positive, "false_positive")
        false_negative = as_number(false_negative, "false_negative")
        return cls(threshold, (false_negative, 0.0), (0.0, false_positive), strict=strict)

    @classmethod
    def from_cost_ratio(
        cls, threshold: float, ratio: float, *, total: float = 10.0, strict: bool = False
    ) -> Self:
        """A false positive costs total * ratio, a false negative the rest of the total.

        Parameters
        ----------
        threshold : float
        ratio : float
            Between 0 and 1; it is the `level` of the loss as well.
        total : float, default=10.0
            Cost of one error of each kind, positive. The default is that of Sahoo et al. (2021).
        strict : bool, default=False
            True in Sahoo et al. (2021).

        Returns
        -------
        ThresholdLoss

        Raises
        ------
        ValueError
            If `ratio` is outside [0, 1], or `total` is not positive.

        Examples
        --------
        >>> from calibrant.decisions import ThresholdLoss
        >>> ThresholdLoss.from_cost_ratio(5.0, 0.3)
        ThresholdLoss(threshold=5.0, below=(7.0, 0.0), above=(0.0, 3.0), strict=False)
        """
        share = _exact(as_level(ratio, "ratio"))
        whole = _exact(as_total(total))
        return cls.from_errors(
            threshold,
            false_positive=float(whole * share),
            false_negative=float(whole * (1 - share)),
            strict=strict,
        )

    # ------------------------------------------------------------------ the Bayes rule

    @cached_property
    def _extra(self) -> tuple[Fraction, Fraction]:
        """How much more action 1 costs than action 0, below and above."""
        (b0, b1), (a0, a1) = self.below, self.above
        return _exact(b1) - _exact(b0), _exact(a1) - _exact(a0)

    @cached_property
    def level(self) -> float | None:
        below, above = self._extra
        if below == above:
            return None
        return _rounded(above / (above - below))

    @property
    def direction(self) -> str:
        below, above = self._extra
        if below == above:
            return "constant" if below else "indifferent"
        return "ge" if below < above else "le"

    @property
    def constant_action(self) -> int | None:
        if self.level is None:
            return int(self._extra[0] <= 0)
        if self.direction == "ge":
            always, never = self.level <= 0, self.level > 1
        else:
            always, never = self.level >= 1, self.level < 0
        return int(always) if always or never else None

    def acts(self, cdf: Floats) -> Bools:
        """Where the Bayes rule takes action 1, given F(threshold)."""
        if self.level is None:
            return np.full(np.shape(cdf), bool(self.constant_action))
        return np.asarray(cdf <= self.level if self.direction == "le" else cdf >= self.level)

    # ------------------------------------------------------------------ costs

    def is_below(self, y: Floats) -> Bools:
        """Which outcomes are on the lower side."""
        return np.asarray(y < self.threshold if self.strict else y <= self.threshold)

    def costs(self, acts: Bools, below: Floats | Bools) -> Floats:
        """Expected cost of each row's action where the outcome is below with probability `below`.

        With 0 and 1 for the probabilities, the cost that was realised.
        """
        if_below = np.where(acts, self.below[1], self.below[0])
        if_above = np.where(acts, self.above[1], self.above[0])
        return np.asarray(if_below * below + if_above * (1.0 - below))

    # ------------------------------------------------------------------ in and out

    def to_dict(self) -> dict[str, Any]:
        """The loss as plain values."""
        return {
            "threshold": self.threshold,
            "below": list(self.below),
            "above": list(self.above),
            "strict": self.strict,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The loss that `to_dict` described."""
        return cls(
            content["threshold"], content["below"], content["above"], strict=content["strict"]
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the loss to a JSON file that `calibrant.load` reads.

        Parameters
        ----------
        path : path-like
            Where to write; the file is complete or not there at all.
        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Raises
        ------
        FileExistsError
            If the file exists and `overwrite` is false.
        """
        saving.save(self, path, overwrite=overwrite)


def as_number(value: Any, name: str) -> float:
    """A finite number."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be a number, got {value!r}.")
    if not math.isfinite(value):
        raise ValueError(f"{name} is {float(value)}: it must be a finite number.")
    return float(value)


def as_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def as_level(value: Any, name: str) -> float:
    """A number in [0, 1]."""
    number = as_number(value, name)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be between 0 and 1, got {number!r}.")
    return number


def as_total(value: Any) -> float:
    """A positive number."""
    number = as_number(value, "total")
    if number <= 0.0:
        raise ValueError(f"total must be positive, got {number!r}.")
    return number


def _as_costs(values: Any, name: str) -> tuple[float, float]:
    try:
        costs = tuple(values)
    except TypeError:
        costs = ()
    if len(costs) != 2 or isinstance(values, str):
        raise ValueError(
            f"{name} must hold two costs, that of action 0 and that of action 1, got {values!r}."
        )
    return as_number(costs[0], f"{name}[0]"), as_number(costs[1], f"{name}[1]")


def _exact(cost: float) -> Fraction:
    """The decimal that a number prints as: what was meant by 0.3."""
    return Fraction(repr(cost))


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
