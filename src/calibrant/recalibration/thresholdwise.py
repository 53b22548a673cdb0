"""Thresholdwise recalibration: the probability of every threshold as a binary forecast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from calibrant.calibrators.logistic_fit import mean_derivatives
from calibrant.calibrators.newton import minimise
from calibrant.entries import Entries, array, is_number, optional, plain
from calibrant.forecasts.base import Floats, Forecast
from calibrant.kernels.logistic import expit_in_place
from calibrant.metrics.grids import as_thresholds, cdf_at
from calibrant.parallel import Progress, in_order
from calibrant.recalibration.average import AverageRecalibration
from calibrant.recalibration.base import Recalibration, weights_or_ones
from calibrant.recalibration.pinned import Pinned
from calibrant.recalibration.threshold import ThresholdRecalibration
from calibrant.saving import saveable

# The default thresholds lie between these quantiles of the outcomes, and on both sides of values
# that a larger share of the outcomes than this has.
_REACH = (0.002, 0.998)
_ATOM = 0.005
# Early stopping takes five folds.
_FEWEST_ROWS = 5
# Log-odds beyond those of this probability say no more.
_EPS = 1e-4


def _are_recalibrations(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(r, Recalibration) for r in value)


def _are_fitted(value: Any) -> bool:
    return _are_recalibrations(value) and all(r.__sklearn_is_fitted__() for r in value)


@saveable
class ThresholdwiseRecalibration(Recalibration):
    r"""Thresholdwise recalibration: a logistic blend of forecasts at every threshold.

    A forecast is calibrated for the decisions at a threshold :math:`y_0` if of the rows with
    :math:`F(y_0) = p` a share of p has an outcome of at most :math:`y_0`, for every p: the
    conditional notion of threshold calibration (Gneiting and Resin, 2023). At each threshold of a
    fine grid, :math:`F(y_0)` is a forecast of class probabilities, and is calibrated as one, from
    the K versions of the forecast that there are: itself, and recalibrated in K - 1 ways.

    .. math:: G(y_0) = \operatorname{logit}^{-1}\Big\{c + \sum_{k=1}^K
              a_k \log F_k(y_0) - b_k \log(1 - F_k(y_0))\Big\}

    where the coefficients maximise the likelihood of the fitting rows, less :math:`\{c^2 + \sum_k
    (a_k - 1/K)^2 + (b_k - 1/K)^2\} / (2 s^2)`: without evidence, the log-odds of the versions are
    averaged. The values G(y0) of a row are sorted, so that they ascend (Chernozhukov et al., 2010),
    and the forecast goes through them; in between it has the shape of the last version.

    On new rows, gaps between promised and realised cost are smaller than after the layers of
    `ThresholdRecalibration`, but the guarantee of these on the fitting rows is lost.

    Parameters
    ----------
    recalibrations : sequence of Recalibration, optional
        The versions besides the forecast itself; an empty one leaves beta calibration at every
        threshold. By default an `AverageRecalibration`, and a `ThresholdRecalibration` with early
        stopping.
    thresholds : int or array-like of shape (m,), default=150
        Thresholds y0, or how many to place evenly between the 0.2 % and the 99.8 % quantile of the
        outcomes; to these are added both sides of every value that more than 0.5 % of the
        outcomes have.
    scale : float, default=0.5
        How far coefficients may go without much evidence: s above.
    pit : {"value", "mid", "randomized"}, default="value"
        For the default `recalibrations`: PIT of an outcome at which the CDF jumps; see
        `calibrant.pit`.
    random_state : None, int or numpy.random.Generator, optional
        For the default `recalibrations`.
    progress : callable, optional
        Called as ``progress(done, total)`` while thresholds are fitted.

    Attributes
    ----------
    recalibrations_ : list of Recalibration
        The fitted recalibrations.
    thresholds_ : ndarray of shape (m,)
        The thresholds, ascending.
    coefficients_ : ndarray of shape (m, 1 + 2K)
        c, and a and b of each version, the forecast itself first, for each threshold.

    See Also
    --------
    ThresholdRecalibration : Algorithm 1, with its guarantee on the fitting rows.

    Notes
    -----
    Logs are taken of F(y0) clipped to [0.0001, 0.9999]. What the forecast itself holds impossible
    stays so: where its F(y0) is 0 or 1, it is not changed.

    On top of `recalibrations`, fitting takes O(m n K^2) time, some six passes over n rows for each
    threshold, and little memory. The new forecasts hold 2 m numbers a row; asking
    them for a CDF takes O(log m) time more than asking those of the last version.

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
    (0.601, 0.56)
    """

    _parameters: ClassVar[Entries] = {
        "recalibrations": optional(plain("a sequence of recalibrations", _are_recalibrations)),
        "scale": plain("a finite number above 0", lambda scale: is_number(scale) and scale > 0.0),
    }
    _state: ClassVar[Entries] = {
        "recalibrations_": plain("a list of fitted recalibrations", _are_fitted),
        "thresholds_": array("m", order="ascending"),
        "coefficients_": array("m", "d"),
    }

    def __init__(
        self,
        recalibrations: Sequence[Recalibration] | None = None,
        *,
        thresholds: Any = 150,
        scale: float = 0.5,
        pit: Any = "value",
        random_state: Any = None,
        progress: Progress | None = None,
    ) -> None:
        self.recalibrations = recalibrations
        self.thresholds = thresholds
        self.scale = scale
        self.pit = pit
        self.random_state = random_state
        self.progress = progress

    def _fit(self, forecast: Forecast, y: Floats, pits: Floats, weight: Floats | None) -> None:
        if self.recalibrations is None and len(y) < _FEWEST_ROWS:
            raise ValueError(
                f"{len(y)} rows are too few to choose the number of layers: at least "
                f"{_FEWEST_ROWS} are needed, or pass recalibrations=."
            )
        self.recalibrations_ = [
            clone(recalibration).fit(forecast, y, sample_weight=weight)
            for recalibration in self._asked_for()
        ]
        self.thresholds_ = _grid(self.thresholds, y, weight)
        versions = self._versions(forecast)
        penalty = 1.0 / float(self.scale) ** 2

        def fit_one(threshold: float) -> Floats:
            return _blend(_at(threshold, versions), y <= threshold, weight, penalty)

        self.coefficients_ = np.array(
            list(in_order(fit_one, self.thresholds_.tolist(), self.progress))
        )

    def _transform(self, forecast: Forecast) -> Pinned:
        versions = self._versions(forecast)
        values = np.empty((len(self.thresholds_), len(forecast)))
        for row, threshold, coefficients in zip(
            values, self.thresholds_, self.coefficients_, strict=True
        ):
            probabilities = _at(threshold, versions)
            row[:] = expit_in_place(coefficients @ _features(probabilities))
            sure = (probabilities[0] == 0.0) | (probabilities[0] == 1.0)
            row[sure] = probabilities[0, sure]
        values.sort(axis=0)
        return Pinned(versions[-1], values.T, self.thresholds_)

    def _asked_for(self) -> Sequence[Recalibration]:
        if self.recalibrations is not None:
            return self.recalibrations
        common = {"pit": self.pit, "random_state": self.random_state}
        return (
            AverageRecalibration(**common),
            ThresholdRecalibration(early_stopping=True, **common),
        )

    def _versions(self, forecast: Forecast) -> list[Forecast]:
        return [forecast, *(fitted.transform(forecast) for fitted in self.recalibrations_)]

    def _check_fitted(self) -> None:
        width = 3 + 2 * len(self.recalibrations_)
        if self.coefficients_.shape[1] != width:
            raise ValueError(
                f"coefficients_ has {self.coefficients_.shape[1]} columns: for "
                f"{len(self.recalibrations_)} recalibrations it must have {width}."
            )


def _grid(thresholds: Any, y: Floats, weight: Floats | None) -> Floats:
    """The thresholds; where they are evenly spaced, with both sides of frequent outcomes."""
    grid = as_thresholds(thresholds, y, weight, _REACH)
    if np.ndim(thresholds) == 0:
        values, row = np.unique(y, return_inverse=True)
        counts = np.bincount(row, weights=weight)
        atoms = values[counts > _ATOM * counts.sum()]
        grid = np.concatenate([grid, atoms, np.nextafter(atoms, -np.inf)])
    return np.unique(grid)


def _at(threshold: float, versions: Sequence[Forecast]) -> Floats:
    """F(threshold) of every version and row, (K, n)."""
    return np.concatenate([cdf_at(version, np.array([threshold])) for version in versions])


def _features(probabilities: Floats) -> Floats:
    """The columns of the model, (1 + 2K, n): 1, and log p and -log(1 - p) of the K versions."""
    clipped = np.clip(probabilities, _EPS, 1.0 - _EPS)
    columns = np.empty((1 + 2 * len(clipped), clipped.shape[1]))
    columns[0] = 1.0
    np.log(clipped, out=columns[1::2])
    np.negative(np.log1p(-clipped), out=columns[2::2])
    return columns


def _blend(
    probabilities: Floats, happened: NDArray[np.bool_], weight: Floats | None, penalty: float
) -> Floats:
    """Most likely coefficients, less the penalty on their distance from the mean of log-odds."""
    columns = _features(probabilities)
    columns *= np.where(happened, 1.0, -1.0)
    total = float(weights_or_ones(weight, len(happened)).sum())
    mean = np.full(len(columns), 1.0 / len(probabilities))
    mean[0] = 0.0
    of_data = mean_derivatives(columns, weight, np.zeros(len(columns)), total)
    away = penalty / total

    def derivatives(point: Floats) -> tuple[Floats, Floats]:
        gradient, hessian = of_data(point)
        return gradient + away * (point - mean), hessian + away * np.eye(len(point))

    return minimise(derivatives, mean).point
