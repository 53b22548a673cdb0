"""Thresholdwise recalibration: the probability of every threshold as a binary forecast."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from calibrant.calibrators.logistic_fit import mean_derivatives
from calibrant.calibrators.newton import minimise
from calibrant.entries import Entries, array, is_number, plain
from calibrant.forecasts.base import Floats, Forecast
from calibrant.kernels.logistic import expit_in_place
from calibrant.metrics.grids import as_thresholds, cdf_at
from calibrant.parallel import Progress, in_order
from calibrant.recalibration.base import Recalibration, weights_or_ones
from calibrant.recalibration.pinned import Pinned
from calibrant.recalibration.threshold import ThresholdRecalibration
from calibrant.saving import saveable

# The default thresholds lie between these quantiles of the outcomes, and on both sides of values
# that a larger share of the outcomes than this has.
_REACH = (0.002, 0.998)
_ATOM = 0.005
# Log-odds beyond those of this probability say no more.
_EPS = 1e-4
_UNCHANGED = np.array([0.0, 1.0, 1.0])


@saveable
class ThresholdwiseRecalibration(Recalibration):
    r"""Thresholdwise recalibration: beta calibration of F(y0) at every threshold y0.

    A forecast is calibrated for the decisions at a threshold :math:`y_0` if of the rows with
    :math:`F(y_0) = p` a share of p has an outcome of at most :math:`y_0`, for every p: the
    conditional notion of threshold calibration (Gneiting and Resin, 2023). At each threshold of a
    fine grid, :math:`F(y_0)` is a forecast of class probabilities, and is recalibrated as one:

    .. math:: G(y_0) = \operatorname{logit}^{-1}\{a \log F(y_0) - b \log(1 - F(y_0)) + c\}

    where a, b, c maximise the likelihood of the fitting rows, less :math:`\{(a - 1)^2 + (b - 1)^2 +
    c^2\} / (2 s^2)`: without evidence forecasts stay as they are. The values G(y0) of a row are
    sorted, so that they ascend (Chernozhukov et al., 2010), and the forecast goes through them; in
    between it keeps its shape. This is the last stage, after another recalibration of the whole
    distribution.

    Parameters
    ----------
    base : Recalibration, optional
        What comes first. By default ``ThresholdRecalibration(early_stopping=True)``.
    thresholds : int or array-like of shape (m,), default=150
        Thresholds y0, or how many to place evenly between the 0.2 % and the 99.8 % quantile of the
        outcomes; to these are added both sides of every value that more than 0.5 % of the
        outcomes have.
    scale : float, default=0.2
        How far a, b and c may go from 1, 1 and 0 without much evidence: s above.
    pit : {"value", "mid", "randomized"}, default="value"
        For the default `base`: PIT of an outcome at which the CDF jumps; see `calibrant.pit`.
    random_state : None, int or numpy.random.Generator, optional
        For the default `base`.
    progress : callable, optional
        Called as ``progress(done, total)`` while thresholds are fitted.

    Attributes
    ----------
    base_ : Recalibration
        The fitted first stage.
    thresholds_ : ndarray of shape (m,)
        The thresholds, ascending.
    coefficients_ : ndarray of shape (m, 3)
        c, a and b of each threshold.

    See Also
    --------
    ThresholdRecalibration : Algorithm 1, with its guarantee on the fitting rows.

    Notes
    -----
    Logs are taken of F(y0) clipped to [0.0001, 0.9999]. What a forecast holds impossible stays so:
    where F(y0) is 0 or 1, it is not changed.

    On top of `base`, fitting takes O(m n) time, some six passes over n rows for each threshold, and
    memory for the m x n array of F(y0). The new forecasts hold m numbers a row; asking them for a
    CDF takes O(log m) time more than asking those of `base`.

    References
    ----------
    Gneiting, T., Resin, J. (2023). Regression diagnostics meets forecast evaluation: conditional
    calibration, reliability diagrams, and coefficient of determination. Electronic Journal of
    Statistics, 17(2).

    Kull, M., Silva Filho, T. M., Flach, P. (2017). Beyond sigmoids: How to obtain well-calibrated
    probabilities from binary classifiers with beta calibration. Electronic Journal of Statistics,
    11(2).

    Chernozhukov, V., Fernandez-Val, I., Galichon, A. (2010). Quantile and probability curves
    without crossing. Econometrica, 78(3).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import ThresholdwiseRecalibration
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=4000)
    >>> y = mu + np.where(mu > 0.0, 1.5, 0.5) * rng.normal(size=4000)
    >>> forecast = Normal(mu, 1.0)
    >>> recalibration = ThresholdwiseRecalibration(random_state=0).fit(forecast, y)
    >>> repaired = recalibration.transform(forecast)
    >>> float(forecast.crps(y).mean().round(3)), float(repaired.crps(y).mean().round(3))
    (0.601, 0.560)
    """

    _parameters: ClassVar[Entries] = {
        "base": plain(
            "None or a recalibration", lambda base: base is None or isinstance(base, Recalibration)
        ),
        "scale": plain("a finite number above 0", lambda scale: is_number(scale) and scale > 0.0),
    }
    _state: ClassVar[Entries] = {
        "base_": plain(
            "a fitted recalibration",
            lambda base: isinstance(base, Recalibration) and base.__sklearn_is_fitted__(),
        ),
        "thresholds_": array("m", order="ascending"),
        "coefficients_": array("m", "3"),
    }

    def __init__(
        self,
        base: Recalibration | None = None,
        *,
        thresholds: Any = 150,
        scale: float = 0.2,
        pit: Any = "value",
        random_state: Any = None,
        progress: Progress | None = None,
    ) -> None:
        self.base = base
        self.thresholds = thresholds
        self.scale = scale
        self.pit = pit
        self.random_state = random_state
        self.progress = progress

    def _fit(self, forecast: Forecast, y: Floats, pits: Floats, weight: Floats | None) -> None:
        base = self.base
        if base is None:
            base = ThresholdRecalibration(
                early_stopping=True, pit=self.pit, random_state=self.random_state
            )
        self.base_ = clone(base).fit(forecast, y, sample_weight=weight)
        self.thresholds_ = _grid(self.thresholds, y, weight)
        cdf = cdf_at(self.base_.transform(forecast), self.thresholds_)
        penalty = 1.0 / float(self.scale) ** 2

        def fit_one(j: int) -> Floats:
            return _shrunken_beta(cdf[j], y <= self.thresholds_[j], weight, penalty)

        rows = range(len(self.thresholds_))
        self.coefficients_ = np.array(list(in_order(fit_one, rows, self.progress)))

    def _transform(self, forecast: Forecast) -> Pinned:
        first = self.base_.transform(forecast)
        cdf = cdf_at(first, self.thresholds_)
        for values, coefficients in zip(cdf, self.coefficients_, strict=True):
            possible = (values > 0.0) & (values < 1.0)
            log_odds = coefficients @ _features(values[possible])
            values[possible] = expit_in_place(log_odds)
        cdf.sort(axis=0)
        return Pinned(first, np.ascontiguousarray(cdf.T), self.thresholds_)


def _grid(thresholds: Any, y: Floats, weight: Floats | None) -> Floats:
    """The thresholds; where they are evenly spaced, with both sides of frequent outcomes."""
    grid = as_thresholds(thresholds, y, weight, _REACH)
    if np.ndim(thresholds) == 0:
        values, row = np.unique(y, return_inverse=True)
        counts = np.bincount(row, weights=weight)
        atoms = values[counts > _ATOM * counts.sum()]
        grid = np.concatenate([grid, atoms, np.nextafter(atoms, -np.inf)])
    return np.unique(grid)


def _features(probability: Floats) -> Floats:
    """The columns of the model, (3, n): 1, log p and -log(1 - p)."""
    clipped = np.clip(probability, _EPS, 1.0 - _EPS)
    return np.stack([np.ones(len(clipped)), np.log(clipped), -np.log1p(-clipped)])


def _shrunken_beta(
    probability: Floats, happened: NDArray[np.bool_], weight: Floats | None, penalty: float
) -> Floats:
    """c, a and b: most likely, less the penalty of half their squared distance from (0, 1, 1)."""
    columns = _features(probability)
    columns *= np.where(happened, 1.0, -1.0)
    total = float(weights_or_ones(weight, len(probability)).sum())
    of_data = mean_derivatives(columns, weight, np.zeros(3), total)

    def derivatives(point: Floats) -> tuple[Floats, Floats]:
        gradient, hessian = of_data(point)
        away = penalty / total
        return gradient + away * (point - _UNCHANGED), hessian + away * np.eye(3)

    return minimise(derivatives, _UNCHANGED).point
