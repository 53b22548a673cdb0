"""Threshold recalibration: calibrated among the rows on which a decision maker acts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, check_cv

from calibrant.arguments import as_generator
from calibrant.entries import COUNT, FLAG, Entries, count, number, optional, plain
from calibrant.forecasts.base import Floats, Forecast
from calibrant.metrics.grids import as_levels, as_min_group_size, as_thresholds, cdf_at
from calibrant.parallel import Progress, Workers
from calibrant.recalibration.base import Recalibration, weights_or_ones
from calibrant.recalibration.early_stopping import Rows, choose
from calibrant.recalibration.layers import FittingRows, Layer, LayerRecord, fit_layers
from calibrant.recalibration.maps import MonotoneMaps
from calibrant.recalibration.recalibrated import Recalibrated
from calibrant.recalibration.search import Grid
from calibrant.saving import saveable
from calibrant.splits import Split, read_splits

_TOL = 0.05


def _splits(cv: Any, n: int) -> list[Split]:
    try:
        pairs = [*check_cv(cv).split(np.zeros(n))]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cv gives no splits of {n} rows ({error}): it must be a number of folds, a splitter "
            "that needs no labels, or pairs of arrays of row numbers."
        ) from error
    return read_splits(pairs, n)


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(layer, LayerRecord) for layer in value)


def _are_pairs_of_maps(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(maps, MonotoneMaps) and len(maps) == 2 for maps in value
    )


@saveable
class ThresholdRecalibration(Recalibration):
    r"""Threshold recalibration: Algorithm 1 of Sahoo et al. (2021).

    A forecast is threshold calibrated if it is calibrated among the rows with
    :math:`F(y_0) \le \alpha` and among those above, for every threshold :math:`y_0` and level
    :math:`\alpha`. That is what makes the cost of every threshold decision predictable. Each layer
    finds the threshold and level with the largest error on the fitting rows, and gives the rows of
    the two groups a map each, as `AverageRecalibration` makes it.

    Parameters
    ----------
    tol : float, optional
        Stop when the largest threshold calibration error is at most this. A calibrated forecast
        of n rows has errors of about 0.31 / sqrt(size of a group) in each group by chance. By
        default 0.05, and 0 with `early_stopping`, where cross-validation decides.
    max_iter : int, default=40
        Most layers.
    thresholds : int or array-like of shape (m,), default=50
        Thresholds y0, or how many to place evenly between the 20 % and the 80 % quantile of the
        outcomes.
    levels : int or array-like of shape (L,), default=20
        Levels alpha, or how many to place evenly from 0.05 to 0.95.
    min_group_size : float, optional
        Smallest number of rows (or weight) of a group that is recalibrated. By default 200, or a
        tenth of the rows where that is less.
    early_stopping : bool, default=False
        Whether to choose the number of layers by cross-validation, with no layer and the average
        map among the candidates. The least mean reliability gap on held-out rows wins: the
        absolute difference of predicted and realised loss, averaged over thresholds, levels, all
        ratios of the two costs of a wrong decision, and folds.
    cv : int, splitter or iterable of splits, default=5
        Folds of the cross-validation; a number means so many shuffled folds.
    pit : {"value", "mid", "randomized"}, default="value"
        PIT of an outcome at which the CDF jumps; see `calibrant.pit`.
    random_state : None, int or numpy.random.Generator, optional
        For the folds and for ``pit="randomized"``.
    progress : callable, optional
        Called as ``progress(done, total)`` while fitting.

    Attributes
    ----------
    n_iter_ : int
        Layers. The average map counts as one, of level 1.
    converged_ : bool
        Whether the largest error on the fitting rows is at most `tol` now.
    max_tce_ : float
        That error, over the grid of thresholds and levels with large enough groups; nan if there
        are none. Like `cv_gaps_` it is not saved.
    history_ : list of LayerRecord
        Threshold, level, error and sizes of the groups of each layer.
    cv_gaps_ : ndarray of shape (max_iter + 2,)
        With `early_stopping`: the held-out gap of no layer, the average map, 1, 2, ... layers.
    maps_ : list of MonotoneMaps
        The two maps of each layer.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` layers did not bring the error to `tol` (not with `early_stopping`).
    UserWarning
        If no threshold and level divides the rows into two large enough groups.

    See Also
    --------
    calibrant.threshold_calibration_error : The error that is brought down.
    AverageRecalibration : One map for all rows.
    ThresholdwiseRecalibration : Smaller errors on new rows, without the guarantee of the layers.

    Notes
    -----
    A layer takes O(m n L) time at most, and memory is that of the m x n array of F(y0), and a
    few arrays of n. `transform` takes O(m n T) time for T layers, and asking the result for a CDF
    O(n T). Early stopping fits `cv` times more.

    Errors are exact, ties go to the first threshold and then the first level, so the same rows
    give the same layers.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., Ermon, S. (2021). Reliable decisions with threshold calibration.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import ThresholdRecalibration
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=4000)
    >>> y = mu + np.where(mu > 0.0, 1.5, 0.5) * rng.normal(size=4000)
    >>> forecast = Normal(mu, 1.0)
    >>> recalibration = ThresholdRecalibration(tol=0.05).fit(forecast, y)
    >>> recalibration.n_iter_, recalibration.converged_
    (2, True)
    >>> repaired = recalibration.transform(forecast)
    >>> float(forecast.crps(y).mean().round(3)), float(repaired.crps(y).mean().round(3))
    (0.601, 0.562)
    """

    _parameters: ClassVar[Entries] = {
        "tol": optional(number(0)),
        "max_iter": count(),
        "early_stopping": FLAG,
    }
    _state: ClassVar[Entries] = {
        "n_iter_": COUNT,
        "converged_": FLAG,
        "history_": plain("a list of layers", _is_history),
        "maps_": plain("a list of maps of 2 groups", _are_pairs_of_maps),
    }

    def __init__(
        self,
        *,
        tol: float | None = None,
        max_iter: int = 40,
        thresholds: Any = 50,
        levels: Any = 20,
        min_group_size: float | None = None,
        early_stopping: bool = False,
        cv: Any = 5,
        pit: Any = "value",
        random_state: Any = None,
        progress: Progress | None = None,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.thresholds = thresholds
        self.levels = levels
        self.min_group_size = min_group_size
        self.early_stopping = early_stopping
        self.cv = cv
        self.pit = pit
        self.random_state = random_state
        self.progress = progress

    def _fit(self, forecast: Forecast, y: Floats, pits: Floats, weight: Floats | None) -> None:
        tol, max_iter = self._tolerance(), int(self.max_iter)
        weights = weights_or_ones(weight, len(y))
        grid = Grid(
            as_thresholds(self.thresholds, y, weight),
            np.unique(as_levels(self.levels)),
            as_min_group_size(self.min_group_size, float(weights.sum())),
        )
        cdf = cdf_at(forecast, grid.thresholds)
        average = False
        self.__dict__.pop("cv_gaps_", None)
        with Workers() as workers:
            if self.early_stopping:
                data = Rows(y, pits, weights, cdf)
                splits = self._splits(len(y))
                choice = choose(data, grid, splits, max_iter, tol, workers, self.progress)
                self.cv_gaps_ = choice.gaps
                average, max_iter = choice.best == 1, max(choice.best - 1, 0)
            rows = FittingRows(pits, weights, cdf, grid, workers)
            if average:
                layers = [rows.add_layer(rows.whole())]
            else:
                layers = list(self._counted(fit_layers(rows, max_iter, tol), max_iter))
        self.history_ = [layer.record for layer in layers]
        self.maps_ = [layer.maps for layer in layers]
        self.n_iter_ = len(layers)
        worst = rows.worst_cell()
        self.max_tce_ = np.nan if worst is None else worst.tce
        self.converged_ = worst is None or worst.tce <= tol
        self._warn(grid)

    def _check_droppable(self) -> None:
        if self.early_stopping and not isinstance(self.cv, Integral):
            raise ValueError(
                "cv splits all rows, but rows of weight zero are left out: leave them out of the "
                "forecasts, the outcomes and cv."
            )

    def _tolerance(self) -> float:
        if self.tol is None:
            return 0.0 if self.early_stopping else _TOL
        return float(self.tol)

    def _check_fitted(self) -> None:
        if not len(self.history_) == len(self.maps_) == self.n_iter_:
            raise ValueError(
                f"history_ holds {len(self.history_)} layers and maps_ the maps of "
                f"{len(self.maps_)}: both must be n_iter_, {self.n_iter_}."
            )

    def _transform(self, forecast: Forecast) -> Recalibrated:
        thresholds = [layer.threshold for layer in self.history_]
        used, number = np.unique(thresholds, return_inverse=True)
        cdf = cdf_at(forecast, used)
        codes = np.empty((self.n_iter_, len(forecast)), dtype=np.int32)
        for t, maps in enumerate(self.maps_):
            codes[t] = cdf[number[t]] > self.history_[t].level
            maps.update(cdf, codes[t])
        return Recalibrated(forecast, codes.T, tuple(self.maps_))

    def _splits(self, n: int) -> list[Split]:
        cv = self.cv
        if isinstance(cv, Integral) and not isinstance(cv, bool):
            if not 2 <= int(cv) <= n:
                raise ValueError(
                    f"cv={cv} folds of {n} rows cannot be made: choose a number from 2 to {n}."
                )
            seed = int(as_generator(self.random_state).integers(2**32))
            cv = KFold(int(cv), shuffle=True, random_state=seed)
        return _splits(cv, n)

    def _counted(self, layers: Iterable[Layer], total: int) -> Iterator[Layer]:
        for done, layer in enumerate(layers, start=1):
            if self.progress is not None and not self.early_stopping:
                self.progress(done, total)
            yield layer

    def _warn(self, grid: Grid) -> None:
        if np.isnan(self.max_tce_):
            warnings.warn(
                "no threshold and level divides the rows into two groups of at least "
                f"{grid.min_group_size:g}, so no layer was fitted: lower min_group_size, or use "
                "AverageRecalibration.",
                UserWarning,
                stacklevel=4,
            )
        elif not self.converged_ and not self.early_stopping:
            warnings.warn(
                f"after {self.n_iter_} layers the largest threshold calibration error is "
                f"{self.max_tce_:.3g}, above tol={self._tolerance():g}: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
